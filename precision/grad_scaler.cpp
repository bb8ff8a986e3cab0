#include "precision/grad_scaler.h"

#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>

#include <algorithm>

namespace ampgate::precision {
namespace {

thread_local std::int64_t without_gradient = 0;

template <typename Value>
Value present(const std::optional<Value>& member, const std::string& name) {
  if (!member) throw GradScalerError("The source state dict has no '" + name + "'.");
  return *member;
}

}  // namespace

bool GradScalerState::empty() const {
  return !scale && !growth_factor && !backoff_factor && !growth_interval && !growth_tracker;
}

GradScaler::GradScaler(c10::DeviceType device, const GradScalerOptions& options)
    : device_(device),
      enabled_(options.enabled),
      init_scale_(options.init_scale),
      growth_factor_(options.growth_factor),
      backoff_factor_(options.backoff_factor),
      growth_interval_(options.growth_interval) {
  if (!enabled_) return;
  if (growth_factor_ <= 1) throw GradScalerError("The growth factor must be > 1.0.");
  if (backoff_factor_ >= 1) throw GradScalerError("The backoff factor must be < 1.0.");
}

void GradScaler::check_initialised(const std::string& method) const {
  const auto check = [&](const at::Tensor& tensor, const std::string& name) {
    if (!tensor.defined()) {
      throw GradScalerError("Attempted " + method + " but " + name +
                            " is None.  This may indicate your script did not use scaler.scale(loss or "
                            "outputs) earlier in the iteration.");
    }
  };
  check(scale_, "_scale");
  check(growth_tracker_, "_growth_tracker");
}

std::int64_t scaled_without_gradient() { return without_gradient; }

at::Tensor GradScaler::scale(const at::Tensor& outputs) {
  if (!enabled_) return outputs;
  if (!outputs.requires_grad()) ++without_gradient;
  if (!scale_.defined()) {
    const auto options = at::TensorOptions().device(outputs.device());
    scale_ = at::full({}, init_scale_, options.dtype(at::kFloat));
    growth_tracker_ = at::full({}, init_growth_tracker_, options.dtype(at::kInt));
  }
  return outputs * scale_.to(outputs.device(), /*non_blocking=*/true);
}

void GradScaler::unscale_(const Optimizer& optimizer) {
  if (!enabled_) return;
  check_initialised("unscale_");
  Progress& progress = progress_[&optimizer];
  if (progress.stage == Stage::kUnscaled) {
    throw GradScalerError("unscale_() has already been called on this optimizer since the last update().");
  }
  if (progress.stage == Stage::kStepped) {
    throw GradScalerError("unscale_() is being called after step().");
  }
  // A division in FP32 may be imprecise under some compilers' options.
  const at::Tensor inverse = scale_.to(at::kDouble).reciprocal().to(at::kFloat);
  progress.found_inf = multiply_gradients(optimizer.parameters(), inverse);
  progress.stage = Stage::kUnscaled;
}

bool GradScaler::step(Optimizer& optimizer) {
  if (!enabled_) {
    optimizer.step();
    return true;
  }
  check_initialised("step");
  if (stage(optimizer) == Stage::kStepped) {
    throw GradScalerError("step() has already been called since the last update().");
  }
  if (stage(optimizer) == Stage::kReady) unscale_(optimizer);

  Progress& progress = progress_.at(&optimizer);
  if (progress.found_inf.empty()) {
    throw GradScalerError("No inf checks were recorded for this optimizer.");
  }
  const bool finite = std::all_of(progress.found_inf.begin(), progress.found_inf.end(),
                                  [](const FoundInf& found) { return found.value.item<float>() == 0; });
  if (finite) optimizer.step();
  progress.stage = Stage::kStepped;
  return finite;
}

bool GradScaler::step(Optimizer& optimizer, const std::function<void()>& closure) {
  if (enabled_) {
    throw GradScalerError("Closure use is not currently supported if GradScaler is enabled.");
  }
  closure();
  optimizer.step();
  return true;
}

void GradScaler::update() {
  if (!enabled_) return;
  check_initialised("update");
  at::Tensor found;
  for (const auto& [optimizer, progress] : progress_) {
    if (progress.found_inf.empty()) continue;
    const at::Tensor sum = sum_of(progress);
    found = found.defined() ? found + sum : sum;
  }
  if (!found.defined()) throw GradScalerError("No inf checks were recorded prior to update.");
  at::_amp_update_scale_(scale_, growth_tracker_, found, growth_factor_, backoff_factor_, growth_interval_);
  progress_.clear();
}

void GradScaler::update(double new_scale) {
  if (!enabled_) return;
  check_initialised("update");
  scale_.fill_(new_scale);
  progress_.clear();
}

void GradScaler::update(const at::Tensor& new_scale) {
  if (!enabled_) return;
  check_initialised("update");
  if (new_scale.device().type() != device_ || new_scale.numel() != 1 || new_scale.requires_grad()) {
    throw GradScalerError(
        "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
        "requires_grad=False.");
  }
  scale_.copy_(new_scale);
  progress_.clear();
}

double GradScaler::get_scale() const {
  if (!enabled_) return 1;
  return scale_.defined() ? scale_.item<float>() : init_scale_;
}

std::int64_t GradScaler::get_growth_tracker() const {
  if (!enabled_) return 0;
  return growth_tracker_.defined() ? growth_tracker_.item<std::int32_t>() : init_growth_tracker_;
}

GradScalerState GradScaler::state_dict() const {
  if (!enabled_) return {};
  return {get_scale(), growth_factor_, backoff_factor_, growth_interval_, get_growth_tracker()};
}

void GradScaler::load_state_dict(const GradScalerState& state) {
  if (!enabled_) return;
  if (state.empty()) {
    throw GradScalerError(
        "The source state dict is empty, possibly because it was saved from a disabled instance of "
        "GradScaler.");
  }
  init_scale_ = present(state.scale, "scale");
  if (scale_.defined()) scale_.fill_(init_scale_);
  growth_factor_ = present(state.growth_factor, "growth_factor");
  backoff_factor_ = present(state.backoff_factor, "backoff_factor");
  growth_interval_ = present(state.growth_interval, "growth_interval");
  init_growth_tracker_ = present(state.growth_tracker, "_growth_tracker");
  if (growth_tracker_.defined()) growth_tracker_.fill_(init_growth_tracker_);
}

GradScaler::Stage GradScaler::stage(const Optimizer& optimizer) const {
  const auto progress = progress_.find(&optimizer);
  return progress == progress_.end() ? Stage::kReady : progress->second.stage;
}

at::Tensor GradScaler::sum_of(const Progress& progress) const {
  at::Tensor sum;
  for (const FoundInf& found : progress.found_inf) {
    const at::Tensor value = found.value.to(scale_.device(), /*non_blocking=*/true);
    sum = sum.defined() ? sum + value : value;
  }
  return sum;
}

at::Tensor GradScaler::found_inf(const Optimizer& optimizer) const {
  const auto progress = progress_.find(&optimizer);
  return progress == progress_.end() ? at::Tensor() : sum_of(progress->second);
}

std::optional<bool> GradScaler::found_inf_value(const Optimizer& optimizer) const {
  const at::Tensor found = found_inf(optimizer);
  if (!found.defined()) return std::nullopt;
  return found.item<float>() != 0;
}

}  // namespace ampgate::precision
