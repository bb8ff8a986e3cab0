#include "validate/oracle_proof.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "cases/execute.h"
#include "validate/case_fault.h"
#include "validate/elements.h"
#include "validate/fp64_defaults.h"
#include "validate/guarded_state.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

constexpr auto kHelp = "; give a \"reference\" of LibTorch's operators (docs/custom-operators.md)";

// FP64 sums of whatever length agree far better, FP32 ones worse.
constexpr double kSameResult = 1e-6;
// Steps of an input, relative: one that every format sees, and two that FP32 does not.
constexpr double kLargeStep = 0x1p-4;
constexpr double kSmallStep = 0x1p-30;
constexpr double kSmallerStep = 0x1p-34;
constexpr double kDerivativeStep = 0x1p-20;
constexpr double kDerivativeError = 1e-3;  // of the root sum of squares of what the inputs contribute

// Each call draws the same: what the steps are along.
at::Tensor directions(const at::Tensor& tensor) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  const at::Tensor sizes = at::empty_like(tensor).uniform_(0.5, 1.0, generator);
  const at::Tensor signs = at::empty_like(tensor).uniform_(-1.0, 1.0, generator).sign_();
  return sizes.mul_(signs);
}

bool is_data(const cases::NamedTensor& entry) {
  return entry.tensor.is_floating_point() && !entry.name.starts_with("cotangent.");
}

cases::State stepped(const cases::State& state, double step, std::optional<std::size_t> only = {}) {
  cases::State moved = state;
  for (std::size_t i = 0; i < moved.tensors.size(); ++i) {
    auto& entry = moved.tensors[i];
    // A tensor of its own in any case: a run may ask for its gradient.
    entry.tensor = is_data(entry) && (!only || *only == i)
                       ? entry.tensor * (1.0 + step * directions(entry.tensor))
                       : entry.tensor.clone();
  }
  return moved;
}

bool same_values(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.eq(b).logical_or_(a.isnan().logical_and_(b.isnan())).all().item<bool>();
}

// Throws CaseFault for a kernel that writes to what it was given to read.
cases::Outputs run(const cases::Case& definition, cases::State state) {
  const at::NoGradGuard no_grad;
  const Fp64Defaults defaults;
  cases::State before = state;
  for (auto& entry : before.tensors) entry.tensor = entry.tensor.detach().clone();
  cases::Outputs outputs = definition.unproven(state);
  for (std::size_t i = 0; i < before.tensors.size(); ++i) {
    if (same_values(state[i].detach(), before[i])) continue;
    throw CaseFault("in FP64 it writes to its own tensor '" + before.tensors[i].name +
                    "': a second call sees other inputs than the first");
  }
  return outputs;
}

// What it gives for the same inputs must be the same.
void check_repeats(const cases::Case& definition, const cases::State& fp64, const cases::Outputs& first) {
  const cases::Outputs again = run(definition, stepped(fp64, 0.0));
  for (std::size_t i = 0; i < first.size() && i < again.size(); ++i) {
    if (same_values(first[i], again[i])) continue;
    throw CaseFault("in FP64 its output " + definition.outputs[i] +
                    " is another in a second call on the same inputs: it draws random numbers, or reads what "
                    "is none of its inputs");
  }
}

double rms(const at::Tensor& values) {
  return values.numel() == 0 ? 0.0 : std::sqrt(values.square().mean().item<double>());
}

void check_same(const std::string& name, const at::Tensor& own, const at::Tensor& oracle) {
  if (own.sizes() != oracle.sizes())
    throw CaseFault("in FP64 its output " + name + " has other sizes than its reference's" + kHelp);
  const at::Tensor allowed = oracle.abs().clamp_min_(rms(oracle)).mul_(kSameResult);
  const at::Tensor wrong = (own - oracle).abs().gt(allowed).logical_or_(own.isnan());
  const at::Tensor places = wrong.flatten().nonzero().flatten();
  if (places.numel() == 0) return;
  const auto position = position_of(places[0].item<std::int64_t>(), oracle.sizes());
  throw CaseFault("in FP64 its output " + name + text(position) + " is " + text(value_at(own, position)) +
                  " where its reference gives " + text(value_at(oracle, position)) + " (" +
                  std::to_string(places.numel()) + " of " + std::to_string(oracle.numel()) +
                  " elements differ): they are not the same function");
}

// Most of the elements that answer to a large step must answer to two small ones, in proportion to each
// other. Where few answer at all the function may be one of steps itself.
void check_steps(const std::string& name, const at::Tensor& at_rest, const at::Tensor& large,
                 const at::Tensor& small, const at::Tensor& smaller) {
  constexpr double kLeastAnswer =
      0x1p-20;  // of the output's RMS; its answer to the smallest step is no noise
  constexpr double kProportion = kSmallStep / kSmallerStep;
  const at::Tensor answers = (large - at_rest).abs().gt(kLeastAnswer * rms(at_rest));
  const at::Tensor narrow = small - at_rest;
  const at::Tensor apart = (narrow - (smaller - at_rest) * kProportion).abs();
  const at::Tensor jumps = apart.gt(narrow.abs() * 0.25).logical_or_(narrow.eq(0.0)).logical_and_(answers);
  const auto answering = answers.sum().item<std::int64_t>();
  if (4 * answering < at_rest.numel() || 2 * jumps.sum().item<std::int64_t>() <= answering) return;
  throw CaseFault(
      "its output " + name +
      " moves in steps in FP64: it answers to inputs changed by 2^-4, and not in proportion to inputs "
      "changed by 2^-30 and 2^-34, so its FP64 kernel computes in fewer digits and nothing can be "
      "judged by it" +
      kHelp);
}

// What the cotangents make of the results: the gradients are of this.
double weighted(const cases::Case& definition, const cases::State& state, const cases::Outputs& outputs) {
  double sum = 0.0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (const at::Tensor* cotangent = state.find("cotangent." + definition.outputs[i]))
      sum += (outputs[i] * *cotangent).sum().item<double>();
  }
  return sum;
}

void check_gradient(const cases::Case& definition, const cases::State& state, const cases::Outputs& outputs,
                    std::size_t tensor) {
  const std::string& name = state.tensors[tensor].name;
  std::size_t number = 0;
  while (number < outputs.size() && definition.outputs[number] != "grad." + name) ++number;
  if (number == outputs.size()) return;
  const double ahead = weighted(definition, state, run(definition, stepped(state, kDerivativeStep, tensor)));
  const double behind =
      weighted(definition, state, run(definition, stepped(state, -kDerivativeStep, tensor)));
  const double moved = (ahead - behind) / (2.0 * kDerivativeStep);
  const at::Tensor parts = outputs[number] * state[tensor] * directions(state[tensor]);
  const double said = parts.sum().item<double>();
  const double scale = std::sqrt(parts.square().sum().item<double>());
  const double noise = 0x1p-30 * (std::abs(ahead) + std::abs(behind));
  if (std::abs(moved - said) <= kDerivativeError * std::max(scale, std::abs(moved)) + noise) return;
  throw CaseFault("in FP64 its gradient by '" + name +
                  "' is not that of its results: along a direction they move by " + text(moved) +
                  " a unit, and the gradient says " + text(said));
}

}  // namespace

void check_reach_in_fp64(const cases::Case& definition, const cases::State& original) {
  if (!definition.unproven) return;
  const cases::State fp64 = cases::converted(original, at::kDouble);
  for (const auto side : {backends::GuardedSide::kEnd, backends::GuardedSide::kBegin}) {
    try {
      GuardedState guarded(fp64, side);
      guarded.run([&] { return run(definition, guarded.state()); });
      if (const std::string reached = guarded.reached(); !reached.empty())
        throw CaseFault("in FP64 it " + reached + ", which is a segmentation fault where no memory is");
    } catch (const backends::NoRoom&) {
      return;  // each trial says so
    }
  }
}

void check_fp64(const cases::Case& definition, const cases::State& original, const cases::Outputs& oracle) {
  if (!definition.unproven) return;
  const at::NoGradGuard no_grad;
  // Nothing is in proportion to NaN and infinity.
  if (!std::all_of(oracle.begin(), oracle.end(),
                   [](const at::Tensor& output) { return at::isfinite(output).all().item<bool>(); }))
    return;
  const cases::State fp64 = stepped(cases::converted(original, at::kDouble), 0.0);
  const cases::Outputs at_rest = run(definition, fp64);
  check_repeats(definition, fp64, at_rest);
  const cases::Outputs large = run(definition, stepped(fp64, kLargeStep));
  const cases::Outputs small = run(definition, stepped(fp64, kSmallStep));
  const cases::Outputs smaller = run(definition, stepped(fp64, kSmallerStep));
  if (at_rest.size() != oracle.size()) {
    throw CaseFault("in FP64 it returns " + std::to_string(at_rest.size()) + " outputs, its reference " +
                    std::to_string(oracle.size()));
  }
  for (std::size_t i = 0; i < at_rest.size(); ++i) {
    if (!at_rest[i].is_floating_point()) continue;
    check_same(definition.outputs[i], at_rest[i], oracle[i]);
    check_steps(definition.outputs[i], at_rest[i], large[i], small[i], smaller[i]);
  }
  if (!definition.differentiates) return;
  for (std::size_t i = 0; i < fp64.tensors.size(); ++i) {
    if (is_data(fp64.tensors[i])) check_gradient(definition, fp64, at_rest, i);
  }
}

}  // namespace ampgate::validate
