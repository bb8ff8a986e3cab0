// The one way in which a training step runs, in both phases: forward and loss under autocast, backward
// outside of it, gradients unscaled once, clipped, optimizers stepped, the scale updated, learning rates
// advanced. Nothing is looked at but what the algorithm itself needs: the scaler's found_inf.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/fills.h"
#include "cases/training/checkpoint.h"
#include "cases/training/optimizer.h"
#include "cases/training/step_order.h"
#include "precision/grad_scaler.h"
#include "precision/precision.h"

namespace ampgate::cases {

// Looks on between the parts of a step; phase 1 alone gives one.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void loss(const at::Tensor& /*of a micro-batch, unscaled*/) {}
  virtual void scaled_gradients() {}  // of the whole effective batch, before the first unscale
  virtual void gradients(std::size_t /*optimizer*/) {}  // unscaled, before they are clipped
  virtual void stepping(std::size_t /*optimizer*/) {}   // with its gradients as they are now
};

struct TrainerSetup {
  const precision::Precision& precision;
  bool scaler;  // scale gradients
  precision::GradScalerOptions scaler_options{};
  c10::Device device = c10::kCPU;
};

// The precisions in which training is tried: fp32 and autocast.
bool trains_in(const precision::Precision& precision);

// Whether a precision trains with a gradient scaler: FP16 autocast alone.
bool needs_scaler(const precision::Precision& precision);

enum class OtherPrecision { kRefused, kAllowed };

class Trainer {
 public:
  // `original`: FP32, as set up; copied. Batches are drawn by `fill`. Throws Misuse where the pieces do not
  // fit: a parameter in two optimizers, weights that are set up in 16 bit, settings that an optimizer
  // refuses, a batch of more rows than there are. Seeds the default random generators, so that a training
  // with dropout is the same one each time.
  Trainer(const Case& definition, const Shape& shape, const Fill& fill, const State& original,
          TrainerSetup setup);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // The next effective batch, whole: standard_step(), or what the case does instead. Throws Misuse, and what
  // operators throw.
  void run_step(StepObserver* observer = nullptr);

  // The parts of a step, for those that put them together: one backward for each micro-batch, one step of
  // each optimizer, one update. Out of order each throws Misuse, or the scaler's own GradScalerError where
  // PyTorch has an error. Without a scaler `unscale` and `update` do nothing, as those of a disabled one.
  // Optimizers may take turns: one whose step is not called stands still in this step.
  void zero_grad();
  at::Tensor forward(int micro_batch);  // the loss over `micro_batches`, under autocast where asked
  void backward(const at::Tensor& loss);
  void unscale(std::size_t optimizer);  // `step` does it where it was not called
  void clip();
  bool step(std::size_t optimizer);  // whether it stepped
  void update();
  void advance_schedule(std::size_t schedule);  // after its optimizer stepped

  // zero_grad, and the unscaled gradients of the next effective batch; nothing is updated.
  void compute_gradients();

  // Draws and cuts the batches of so many steps ahead, so that no timed step does; what is there is kept.
  void load_batches(std::int64_t steps);

  // The model on the held-out rows, as trained, in the trial's precision.
  Outputs evaluate();
  // The held-out rows' own tensors, by the names of the batches' tensors.
  const State& held_out() const { return held_out_; }

  // Between two steps: all that the next one begins with.
  Checkpoint save() const;
  // Of a trainer of the same case, shape, seed and configuration; throws std::invalid_argument, with nothing
  // changed, for another and for what is missing or does not fit. Another precision (other FP32 regions or
  // another device are one, too) only where that is asked for: floating tensors are then converted, the
  // scaler starts anew, and `changes` of later checkpoints say so.
  void restore(const Checkpoint& checkpoint, OtherPrecision other = OtherPrecision::kRefused);
  // Resumed under another precision: [{"iteration", "from": {...}, "to": {...}}], the oldest first.
  const results::Json& changes() const { return changes_; }

  std::int64_t iteration() const { return iteration_; }  // steps begun, skipped ones among them
  const std::vector<std::unique_ptr<Optimizer>>& optimizers() const { return optimizers_; }
  const Training& training() const { return training_; }
  const precision::GradScaler& scaler() const { return scaler_; }
  bool scales_gradients() const { return with_scaler_; }
  // Is the loss being computed? Everything else in a step is autograd's, the optimizers' or the scaler's
  // work.
  bool in_forward() const { return in_forward_; }
  double scale() const { return with_scaler_ ? scaler_.get_scale() : 1.0; }
  std::int64_t growth_tracker() const { return with_scaler_ ? scaler_.get_growth_tracker() : 0; }
  // Of the last step, by optimizer: whether its step was called, and whether it updated its weights.
  const std::vector<bool>& step_called() const { return order_.step_called(); }
  const std::vector<bool>& stepped() const { return order_.stepped(); }
  // Steps since this object was made in which every optimizer that was called updated its weights.
  std::int64_t applied_steps() const { return applied_steps_; }
  // What all steps so far have in common.
  const StepOrder& order() const { return order_; }
  const State& state() const { return state_; }
  std::vector<at::Tensor> weights() const;  // in the order of the state
  // What the next step begins with: its first micro-batch, and the weights.
  const State& next_batch();

 private:
  void refuse_large_batch() const;
  void begin_step(StepObserver* observer);
  struct Restored;
  class StateReader;
  // Which training it is: what a checkpoint must agree with.
  results::Json identity() const;
  // What a step reads beside weights and rows; a case may write to it, as batch norm does to running means.
  std::vector<const NamedTensor*> buffers() const;
  void place_rows(int micro_batch);
  void cut_batch(std::int64_t iteration, int micro_batch, std::vector<at::Tensor>& rows) const;

  const Case& definition_;
  const Training& training_;
  const Shape shape_;
  const Fill fill_;
  const precision::Precision& precision_;
  const bool with_scaler_;
  const precision::GradScalerOptions scaler_options_;
  const c10::Device device_;
  State whole_;                           // all rows, on the device
  State state_;                           // what the loss reads: weights, and the rows of the batch
  State held_out_;                        // the same weights, and the held-out rows
  std::vector<std::size_t> row_tensors_;  // their numbers in the state
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  precision::GradScaler scaler_;
  std::vector<std::int64_t> applied_;  // updates made, by schedule
  StepOrder order_;
  std::int64_t applied_steps_ = 0;
  bool in_forward_ = false;
  std::int64_t iteration_ = 0;
  results::Json changes_ = results::Json::array();
  std::int64_t batches_from_ = 0;
  std::vector<std::vector<at::Tensor>> batches_;  // loaded ahead, by micro-batch
  StepObserver* observer_ = nullptr;
};

// zero_grad; forward and backward of each micro-batch; then once: unscale, clip, step, update, schedules.
void standard_step(Trainer& trainer);

}  // namespace ampgate::cases
