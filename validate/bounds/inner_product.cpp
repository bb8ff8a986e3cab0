// Products and convolutions: y = Σ a_k b_k over K terms, plus at most one term that is not multiplied (a
// bias). E = min(λ·u32·T, γ_K·S) and what flushed subnormals may lose. All sums come from the operator
// itself in FP64, so that no bound needs to know which operator it is: S with |a|, |b| for a, b; Q with their
// squares; partial sums with the operands narrowed along the reduced axes.
#include <set>
#include <stdexcept>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {
namespace {

template <typename Function>
cases::State transformed(const cases::State& state, Function&& function) {
  cases::State result = state;
  for (auto& entry : result.tensors) {
    if (entry.tensor.is_floating_point()) entry.tensor = function(entry.tensor);
  }
  return result;
}

std::int64_t reduced_length(const BoundContext& context) {
  const auto& reduced = context.spec.reduced;
  const auto fail = [&](const char* what) {
    throw std::logic_error(context.name + ": its reduced axes " + what);
  };
  if (reduced.empty()) fail("are missing");
  std::int64_t length = -1;
  for (const auto& [tensor, dim] : reduced) {
    if (tensor >= context.inputs.tensors.size() || dim < 0 || dim >= context.inputs[tensor].dim())
      fail("are not there");
    const std::int64_t size = context.inputs[tensor].size(dim);
    if (length >= 0 && size != length) fail("differ in length");
    length = size;
  }
  return length;
}

// Floating tensors that no reduced axis names: they are added, not multiplied.
std::vector<std::size_t> added_operands(const BoundContext& context) {
  std::set<std::size_t> multiplied;
  for (const auto& axis : context.spec.reduced) multiplied.insert(axis.tensor);
  std::vector<std::size_t> added;
  for (std::size_t i = 0; i < context.inputs.tensors.size(); ++i) {
    if (context.inputs[i].is_floating_point() && !multiplied.contains(i)) added.push_back(i);
  }
  return added;
}

// The products over [start, start + count) of the reduced axes, or with count 0 the added operands alone.
at::Tensor part(const BoundContext& context, const std::vector<std::size_t>& added, std::int64_t start,
                std::int64_t count, std::size_t output) {
  cases::State state = context.inputs;
  for (const auto& [tensor, dim] : context.spec.reduced) {
    auto& operand = state.tensors[tensor].tensor;
    operand = count > 0 ? operand.narrow(dim, start, count) : at::zeros_like(operand.narrow(dim, 0, 1));
  }
  if (count > 0) {
    for (const std::size_t i : added) state.tensors[i].tensor = at::zeros_like(state.tensors[i].tensor);
  }
  return context.evaluate(std::move(state))[output];
}

at::Tensor prefix_squares(const BoundContext& context, std::size_t output) {
  const std::int64_t length = reduced_length(context);
  const std::int64_t step = std::max<std::int64_t>(1, length / 32);
  const double terms = static_cast<double>(context.spec.length) / static_cast<double>(length);
  const auto added = added_operands(context);
  const at::Tensor bias = added.empty() ? at::Tensor() : part(context, added, 0, 0, output);
  at::Tensor partial = at::zeros_like(context.oracle[output]);
  at::Tensor result = at::zeros_like(partial);
  for (std::int64_t start = 0; start < length; start += step) {
    const std::int64_t count = std::min(step, length - start);
    partial.add_(part(context, added, start, count, output));
    // A kernel adds the bias first or last.
    const at::Tensor largest = bias.defined() ? at::maximum(partial.abs(), (partial + bias).abs_()) : partial;
    result.addcmul_(largest, largest, terms * static_cast<double>(count));
  }
  return bias.defined() ? result.add_(context.oracle[output].square()) : result;
}

// What an operator may lose that takes subnormal operands, or its own subnormal products and sums, for zero.
// Products of FP16 operands are normal in FP32. No sum is off by more than S.
at::Tensor flushed(const BoundContext& context, const at::Tensor& absolute, std::int64_t length,
                   std::size_t output) {
  if (context.operand_type == at::kHalf) return at::zeros_like(absolute);
  at::Tensor lost = absolute.clamp_max(static_cast<double>(length) * kSmallestNormal);
  const auto subnormal = [](const at::Tensor& tensor) {
    const at::Tensor magnitude = tensor.abs();
    return magnitude.gt(0.0).logical_and_(magnitude.lt(kSmallestNormal));
  };
  bool any = false;
  for (const auto& entry : context.inputs.tensors) {
    any = any || (entry.tensor.is_floating_point() && subnormal(entry.tensor).any().item<bool>());
  }
  if (any) {
    const auto kept = transformed(context.inputs, [&](const at::Tensor& tensor) {
      return tensor.abs().masked_fill_(subnormal(tensor), 0.0);
    });
    lost.add_((absolute - context.evaluate(kept)[output]).clamp_min_(0.0));
  }
  return lost;
}

// What storing P partial sums in FP16, and adding them up in FP16, may do: each is rounded, and so is
// each of the P running sums, whose mean square given y and Q is that of a bridge from 0 to y. Of subnormal
// ones the error is absolute, half a step each.
at::Tensor fp16_partials_error(const BoundContext& context, const Sums& sums) {
  const double partials = static_cast<double>(context.spec.fp16_partials);
  at::Tensor t_squared = (sums.squares * partials - sums.y.square()).clamp_min_(0.0).div_(6.0);
  t_squared.add_(sums.squares)
      .add_(sums.y.square(), (partials + 1.0) * (2.0 * partials + 1.0) / (6.0 * partials));
  const double step = precision::format_of(context.output_type).smallest_subnormal();
  return t_squared.sqrt_().mul_(context.rules.bounds.lambda * unit_of(context.output_type)).add_(partials * step);
}

}  // namespace

Bound inner_product(const BoundContext& context, std::size_t output) {
  const std::int64_t terms = context.spec.length + (added_operands(context).empty() ? 0 : 1);
  const at::Tensor length = scalar(static_cast<double>(terms));
  Sums sums{context.oracle[output], {}, {}, prefix_squares(context, output)};
  sums.absolute =
      context.evaluate(transformed(context.inputs, [](const at::Tensor& t) { return t.abs(); }))[output];
  sums.squares =
      context.evaluate(transformed(context.inputs, [](const at::Tensor& t) { return t.square(); }))[output];

  // Products of two 16-bit values are exact in FP32.
  const bool rounded_products = !is_16_bit(context.operand_type);
  Bound bound;
  bound.criterion = "inner-product bound";
  bound.source = "min(lambda u32 T, gamma_K S), T the root sum of squares of the partial sums";
  const at::Tensor certain = certain_error(sums, length, kUnitFp32);
  bound.hard = explaining(certain, length, kUnitFp32);
  bound.hard_source = "another order of summation";
  bound.error = at::minimum(
      probable_error(sums, length, kUnitFp32, context.rules.bounds.lambda, rounded_products), certain);
  if (context.spec.fp16_partials > 1 && context.output_type == at::kHalf) {
    bound.hard = at::maximum(bound.hard, bound.error + fp16_partials_error(context, sums));
    bound.hard_source = "partial sums stored in FP16";
  }
  at::Tensor floor = flushed(context, sums.absolute, terms, output);
  if (context.output_type == at::kFloat) {
    floor.add_(sums.absolute.clamp_max(static_cast<double>(terms) * kSmallestSubnormal));
  }
  bound.error.add_(floor);
  bound.hard.add_(floor);
  return bound;
}

}  // namespace ampgate::validate::bounds
