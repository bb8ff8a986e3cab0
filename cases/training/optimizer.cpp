#include "cases/training/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <stdexcept>

namespace ampgate::cases {

Optimizer::Optimizer(const OptimizerSpec& spec, const std::vector<Parameter>& parameters)
    : spec_(spec), moments_(parameters.size()), learning_rate_(spec.learning_rate) {
  if (parameters.empty()) throw std::invalid_argument("an optimizer without parameters");
  for (const auto& parameter : parameters) {
    names_.push_back(parameter.name);
    parameters_.push_back(parameter.tensor);
  }
}

void Optimizer::zero_grad() {
  for (auto& parameter : parameters_) parameter.mutable_grad().reset();
}

void Optimizer::step() {
  const at::NoGradGuard no_grad;
  ++updates_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].grad();
    if (!gradient.defined()) continue;
    ++moments_[i].steps;
    if (spec_.kind == OptimizerKind::kSgd) {
      step_sgd(parameters_[i], gradient, moments_[i]);
    } else {
      step_adamw(parameters_[i], gradient, moments_[i]);
    }
  }
}

void Optimizer::step_sgd(const at::Tensor& parameter, at::Tensor gradient, Moments& moments) const {
  if (spec_.weight_decay != 0) gradient = gradient.add(parameter, spec_.weight_decay);
  if (spec_.momentum != 0) {
    if (moments.first.defined()) {
      moments.first.mul_(spec_.momentum).add_(gradient, 1);
    } else {
      moments.first = gradient.clone();
    }
    gradient = moments.first;
  }
  parameter.add_(gradient, -learning_rate_);
}

void Optimizer::step_adamw(const at::Tensor& parameter, const at::Tensor& gradient, Moments& moments) const {
  if (!moments.first.defined()) {
    moments.first = at::zeros_like(parameter, at::MemoryFormat::Preserve);
    moments.second = at::zeros_like(parameter, at::MemoryFormat::Preserve);
  }
  if (spec_.weight_decay != 0) parameter.mul_(1 - learning_rate_ * spec_.weight_decay);
  moments.first.lerp_(gradient, 1 - spec_.beta1);
  moments.second.mul_(spec_.beta2).addcmul_(gradient, gradient, 1 - spec_.beta2);
  const auto step = static_cast<double>(moments.steps);
  const double correction1 = 1 - std::pow(spec_.beta1, step);
  const double correction2 = std::sqrt(1 - std::pow(spec_.beta2, step));
  const at::Tensor denominator = (moments.second.sqrt() / correction2).add_(spec_.eps);
  parameter.addcdiv_(moments.first, denominator, -learning_rate_ / correction1);
}

std::int64_t Optimizer::moment_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [first, second, steps] : moments_) {
    for (const auto* tensor : {&first, &second})
      bytes += tensor->defined() ? static_cast<std::int64_t>(tensor->nbytes()) : 0;
  }
  return bytes;
}

std::map<std::string, at::Tensor> Optimizer::state() const {
  std::map<std::string, at::Tensor> state;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Moments& moments = moments_[i];
    if (moments.steps == 0) continue;
    if (moments.first.defined()) state[names_[i] + ".first"] = moments.first.clone();
    if (moments.second.defined()) state[names_[i] + ".second"] = moments.second.clone();
    state[names_[i] + ".steps"] = at::scalar_tensor(moments.steps, at::kLong);
  }
  return state;
}

void Optimizer::set_state(const std::map<std::string, at::Tensor>& tensors, std::int64_t updates,
                          double rate) {
  updates_ = updates;
  learning_rate_ = rate;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto copy_of = [&](const char* what) {
      const auto found = tensors.find(names_[i] + what);
      if (found == tensors.end()) return at::Tensor();
      return found->second.to(parameters_[i].device(), found->second.scalar_type(), false, /*copy=*/true);
    };
    const at::Tensor steps = copy_of(".steps");
    moments_[i] = {copy_of(".first"), copy_of(".second"), steps.defined() ? steps.item<std::int64_t>() : 0};
  }
}

}  // namespace ampgate::cases
