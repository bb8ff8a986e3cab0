#include "cases/training/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <stdexcept>

#include "cases/training/like.h"
#include "cases/training/misuse.h"
#include "cases/training/sparse_parts.h"

namespace ampgate::cases {
namespace {

constexpr const char* kFirst = ".first";
constexpr const char* kSecond = ".second";

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// At least 0, and finite.
bool usable(double value) { return value >= 0 && std::isfinite(value); }

}  // namespace

std::string fault_of(const OptimizerSpec& spec, std::size_t parameters) {
  if (!usable(spec.learning_rate)) return "Invalid learning rate: " + number_text(spec.learning_rate);
  if (!usable(spec.weight_decay)) return "Invalid weight_decay value: " + number_text(spec.weight_decay);
  if (spec.kind == OptimizerKind::kSgd) {
    if (!usable(spec.momentum)) return "Invalid momentum value: " + number_text(spec.momentum);
  } else {
    if (!usable(spec.eps)) return "Invalid epsilon value: " + number_text(spec.eps);
    int index = 0;
    for (const double beta : {spec.beta1, spec.beta2}) {
      if (!usable(beta) || beta >= 1)
        return "Invalid beta parameter at index " + std::to_string(index) + ": " + number_text(beta);
      ++index;
    }
  }
  return parameters == 0 ? "an optimizer without parameters: no weight's name begins as it asks for" : "";
}

Optimizer::Optimizer(const OptimizerSpec& spec, const std::vector<Parameter>& parameters)
    : spec_(spec), moments_(parameters.size()), learning_rate_(spec.learning_rate) {
  if (const std::string fault = fault_of(spec, parameters.size()); !fault.empty())
    throw std::invalid_argument(fault);
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
  if (gradient.is_sparse()) throw Misuse("AdamW does not support sparse gradients; SGD does");
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

Optimizer::State Optimizer::state() const {
  State state{updates_, learning_rate_, {}, {}};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Moments& moments = moments_[i];
    state.steps.push_back(moments.steps);
    if (moments.first.defined()) put_parts(state.tensors, names_[i] + kFirst, moments.first);
    if (moments.second.defined()) put_parts(state.tensors, names_[i] + kSecond, moments.second);
  }
  return state;
}

void Optimizer::check(const State& state, bool same_types) const {
  if (state.steps.size() != parameters_.size()) {
    throw std::invalid_argument("it has steps of " + std::to_string(state.steps.size()) +
                                " parameters, the optimizer has " + std::to_string(parameters_.size()));
  }
  std::set<std::string> known;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const bool stepped = state.steps[i] > 0;
    if (state.steps[i] < 0 || state.steps[i] > state.updates) {
      throw std::invalid_argument("parameter '" + names_[i] + "' was stepped " +
                                  std::to_string(state.steps[i]) + " times in " +
                                  std::to_string(state.updates) + " updates");
    }
    for (const auto& [what, wanted] : {std::pair{kFirst, has_first()}, std::pair{kSecond, has_second()}}) {
      if (!stepped || !wanted) continue;
      const at::Tensor found = take_parts(state.tensors, names_[i] + what, parameters_[i].sizes());
      if (!found.defined()) throw std::invalid_argument("tensor '" + names_[i] + what + "' is missing");
      check_like(names_[i] + what, found, parameters_[i], same_types);
      for (auto& part : part_names(state.tensors, names_[i] + what)) known.insert(std::move(part));
    }
  }
  for (const auto& [name, tensor] : state.tensors) {
    if (known.count(name) == 0) throw std::invalid_argument("tensor '" + name + "' has no place in it");
  }
}

void Optimizer::set_state(const State& state) {
  const at::NoGradGuard no_grad;
  updates_ = state.updates;
  learning_rate_ = state.learning_rate;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    // Strided as the parameter, as step() makes them: kernels may round differently for other strides.
    const auto copy_of = [&](const char* what) {
      const at::Tensor found = take_parts(state.tensors, names_[i] + what, parameters_[i].sizes());
      if (!found.defined()) return found;
      if (found.is_sparse())
        return found.to(parameters_[i].options().layout(at::kSparse), false, /*copy=*/true);
      return at::empty_like(parameters_[i], at::MemoryFormat::Preserve).copy_(found);
    };
    moments_[i] = {copy_of(kFirst), copy_of(kSecond), state.steps[i]};
  }
}

}  // namespace ampgate::cases
