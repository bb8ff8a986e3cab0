// Functions of one element. The constants cover the vectorised kernels of the CPU and are tight enough to
// tell the two forms of gelu apart.
#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {

// x/2·(1 + erf(x/√2)): the sum cancels in the negative tail, so the error is relative to x, not to y.
// BF16 kernels take subnormal results for zero.
Bound gelu_erf(const BoundContext& context, std::size_t /*output*/) {
  Bound bound;
  bound.error = operand(context, "x").abs().mul_(6.0 * kUnitFp32).add_(kSmallestNormal);
  bound.criterion = "gelu bound";
  bound.source = "6 u32 |x| + 2^-126";
  return bound;
}

Bound gelu_tanh(const BoundContext& context, std::size_t /*output*/) {
  Bound bound;
  bound.error = operand(context, "x").abs().mul_(2.0 * kUnitFp32);
  bound.criterion = "gelu (tanh) bound";
  bound.source = "2 u32 |x|";
  return bound;
}

// The second term: exp(−x) overflows, or the quotient is flushed.
Bound silu(const BoundContext& context, std::size_t output) {
  Bound bound;
  bound.error = context.oracle[output].abs().mul_(2.0 * kUnitFp32);
  bound.error.add_(operand(context, "x").abs().clamp_min_(1.0).mul_(kSmallestNormal));
  bound.criterion = "silu bound";
  bound.source = "2 u32 |y| + max(1, |x|) 2^-126";
  return bound;
}

// Largest error before rounding, in u32, on an AVX-512 CPU: 0.45 over all FP16 inputs, 0 over all BF16
// inputs, 0.08 over all FP32 inputs with 2^-12 <= |x| < 2^7. c leaves room for devices whose exponential is
// good to two units in the last place.
Bound exp(const BoundContext& context, std::size_t output) {
  Bound bound;
  bound.error = context.oracle[output].abs().mul_(context.rules.bounds.c * kUnitFp32).add_(kSmallestNormal);
  bound.criterion = "exp bound";
  bound.source = "c u32 |y| + 2^-126";
  return bound;
}

}  // namespace ampgate::validate::bounds
