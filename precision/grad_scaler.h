// Gradient scaling for training in FP16: torch.amp.GradScaler of PyTorch 2.11 in C++, to the last bit, on
// LibTorch's own two kernels. In each training step:
//   scaler.scale(loss).backward();   outside autocast
//   scaler.unscale_(optimizer);      only where the true gradients are wanted, for clipping
//   scaler.step(optimizer);          once for each optimizer
//   scaler.update();                 once, at the end
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceType.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "precision/grad_scaler_error.h"
#include "precision/optimizer.h"
#include "precision/unscale.h"

namespace ampgate::precision {

struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
  bool enabled = true;
};

// What state_dict() holds. A disabled scaler's is empty, and a state read from a file may lack a member.
struct GradScalerState {
  std::optional<double> scale;
  std::optional<double> growth_factor;
  std::optional<double> backoff_factor;
  std::optional<std::int64_t> growth_interval;
  std::optional<std::int64_t> growth_tracker;
  bool empty() const;
};

// Every method may throw GradScalerError, and what LibTorch itself throws (std::runtime_error for a scale
// beyond float32, c10::Error for gradients of a type that its kernel does not know).
class GradScaler {
 public:
  // How far an optimizer has come since the last update().
  enum class Stage { kReady, kUnscaled, kStepped };

  // `device` is the type of the devices that train; update(tensor) takes none of another. Throws unless
  // growth_factor > 1 and backoff_factor < 1; nothing else is checked, and nothing at all when disabled.
  explicit GradScaler(c10::DeviceType device, const GradScalerOptions& options = {});
  GradScaler(GradScaler&&) = default;  // no copies: they would share scale and tracker
  GradScaler& operator=(GradScaler&&) = default;

  // outputs * scale, for autograd too. The first call puts scale and tracker on the device of `outputs`.
  // Both are 0-dim, so that a 0-dim FP16 loss times 65536 becomes FP32; with shape (1) it would be FP16, inf.
  at::Tensor scale(const at::Tensor& outputs);

  // Multiplies the optimizer's gradients, those that are not finite too, by float(1 / double(scale)), in
  // place and at most once before update(). Finiteness is tested before that: a gradient that overflows when
  // the scale is below 1 goes unseen. FP16 gradients are an error. Duplicates in sparse gradients are not
  // summed.
  void unscale_(const Optimizer& optimizer);

  // Unscales unless unscale_() did, then calls optimizer.step() if every gradient was finite. Returns whether
  // it stepped. Reads found_inf from the device: the only synchronisation of a training step.
  bool step(Optimizer& optimizer);

  // An error, as in PyTorch: closures cannot be scaled. Disabled: closure, then step.
  bool step(Optimizer& optimizer, const std::function<void()>& closure);

  // Backs off if any optimizer's gradients were not finite, else counts and grows, and lets all optimizers
  // begin anew. An error where no optimizer was unscaled or stepped.
  void update();

  // Sets the scale, the tracker staying as it is, and lets all optimizers begin anew.
  void update(double new_scale);
  void update(const at::Tensor& new_scale);  // 0-dim, on the constructor's type of device, without gradient
  void update(std::integral auto) = delete;  // Python raises for an int

  // 1 when disabled. Before the first scale(), the initial scale unrounded. Synchronises.
  double get_scale() const;
  std::int64_t get_growth_tracker() const;

  bool is_enabled() const { return enabled_; }
  double get_growth_factor() const { return growth_factor_; }
  double get_backoff_factor() const { return backoff_factor_; }
  std::int64_t get_growth_interval() const { return growth_interval_; }
  void set_growth_factor(double factor) { growth_factor_ = factor; }
  void set_backoff_factor(double factor) { backoff_factor_ = factor; }
  void set_growth_interval(std::int64_t interval) { growth_interval_ = interval; }

  // To be saved after update(): where the optimizers are in their step is no part of it.
  GradScalerState state_dict() const;

  // Member after member in the order of GradScalerState, so that a missing one throws when those before it
  // are loaded. The optimizers stay where they are in their step. Nothing when disabled.
  void load_state_dict(const GradScalerState& state);

  // 0-dim float32 and int32 on the device, without synchronising; undefined before the first scale().
  const at::Tensor& scale_tensor() const { return scale_; }
  const at::Tensor& growth_tracker_tensor() const { return growth_tracker_; }

  Stage stage(const Optimizer& optimizer) const;

  // Were this optimizer's gradients finite? 0-dim float32 on the scale's device: 0 if so, else the number of
  // devices where they were not. Undefined where nothing was unscaled since the last update().
  at::Tensor found_inf(const Optimizer& optimizer) const;

  // The same as an answer; empty where nothing was unscaled. Synchronises.
  std::optional<bool> found_inf_value(const Optimizer& optimizer) const;

 private:
  struct Progress {
    Stage stage = Stage::kReady;
    std::vector<FoundInf> found_inf;
  };

  void check_initialised(const std::string& method) const;
  at::Tensor sum_of(const Progress& progress) const;

  c10::DeviceType device_;
  bool enabled_;
  double init_scale_;
  double growth_factor_;
  double backoff_factor_;
  std::int64_t growth_interval_;
  std::int64_t init_growth_tracker_ = 0;
  at::Tensor scale_;
  at::Tensor growth_tracker_;
  std::unordered_map<const Optimizer*, Progress> progress_;  // since the last update()
};

// How often scale() was called on this thread with outputs that have no gradient: a scaler in inference, for
// which PyTorch has no error.
std::int64_t scaled_without_gradient();

}  // namespace ampgate::precision
