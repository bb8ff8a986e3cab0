// Sums of `length` terms of anything: how much the result moves when each input moves by the unit roundoff of
// FP32 is what one rounding of each term does, and K roundings that know nothing of each other add up as
// their squares.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"
#include "validate/text.h"

namespace ampgate::validate::bounds {
namespace {

constexpr int kDraws = 16;

// The square of what inputs that are off by u32 (standard deviation, independently) do to each element.
at::Tensor sensitivity_squared(const BoundContext& context, std::size_t output) {
  const double spread = std::sqrt(3.0) * kUnitFp32;  // uniform with a standard deviation of u32
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  at::Tensor squares = at::zeros_like(context.oracle[output]);
  for (int draw = 0; draw < kDraws; ++draw) {
    cases::State state = context.inputs;
    for (auto& entry : state.tensors) {
      if (!entry.tensor.is_floating_point()) continue;
      entry.tensor =
          entry.tensor * at::empty_like(entry.tensor).uniform_(1.0 - spread, 1.0 + spread, generator);
    }
    squares.add_((context.evaluate(state)[output] - context.oracle[output]).square_());
  }
  return squares.div_(kDraws);
}

}  // namespace

Bound conditioned(const BoundContext& context, std::size_t output) {
  const at::Tensor& y = context.oracle[output];
  const double terms = std::sqrt(static_cast<double>(context.spec.length));
  Bound bound;
  bound.error = sensitivity_squared(context, output)
                    .add_(y.square().mul_(kUnitFp32 * kUnitFp32))
                    .sqrt_()
                    .mul_(context.rules.bounds.lambda * terms)
                    .add_(kSmallestNormal);
  // Where the oracle is not finite the masks decide.
  bound.error.nan_to_num_(0.0, 0.0, 0.0);
  bound.criterion = "conditioning bound";
  bound.source =
      text(context.rules.bounds.lambda) +
      " x sqrt(K) x what u32 in each input does to the result, K = " + std::to_string(context.spec.length) +
      " as the case says";
  return bound;
}

}  // namespace ampgate::validate::bounds
