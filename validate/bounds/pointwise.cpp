// Functions of one element. The constants cover the vectorised kernels of the CPU and are tight enough to
// tell the two forms of gelu apart. "Largest error" is that beyond the final rounding on an AVX-512 CPU, in
// u32 |y|, over all FP16 and BF16 inputs and 2^22 random FP32 bit patterns, against the same function in
// FP64. The term 2^-126 is for kernels that take subnormal values for zero.
#include "validate/bounds/common.h"
#include "validate/bounds/families.h"
#include "validate/text.h"

namespace ampgate::validate::bounds {
namespace {

// `units` u32 |y| + 2^-126.
Bound relative(const BoundContext& context, std::size_t output, double units, const char* criterion) {
  Bound bound;
  bound.error = context.oracle[output].abs().mul_(units * kUnitFp32).add_(kSmallestNormal);
  bound.criterion = criterion;
  bound.source = text(units) + " u32 |y| + 2^-126";
  return bound;
}

}  // namespace

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

// The second term: exp(−x) overflows, or the quotient is flushed. Largest error: 1.5.
Bound silu(const BoundContext& context, std::size_t output) {
  Bound bound = relative(context, output, 2.0, "silu bound");
  bound.error.add_(operand(context, "x").abs().clamp_min_(1.0).mul_(kSmallestNormal));
  bound.source = "2 u32 |y| + max(1, |x|) 2^-126";
  return bound;
}

// Largest error: 1.67.
Bound sigmoid(const BoundContext& context, std::size_t output) {
  return relative(context, output, 2.0, "sigmoid bound");
}

// Largest error: 0.02 and 0.46. c leaves room for devices, as for exp.
Bound tanh(const BoundContext& context, std::size_t output) {
  return relative(context, output, context.rules.bounds.c, "tanh bound");
}
Bound log(const BoundContext& context, std::size_t output) {
  return relative(context, output, context.rules.bounds.c, "log bound");
}

// Largest error: 0.99. Scalar kernels, which take the elements that fill no vector, store the root in 16 bit.
Bound rsqrt(const BoundContext& context, std::size_t output) {
  Bound bound = relative(context, output, context.rules.bounds.c, "rsqrt bound");
  if (is_16_bit(context.output_type)) {
    bound.hard = bound.error + context.oracle[output].abs() * (1.01 * unit_of(context.output_type));
    bound.hard_source = "a root stored in 16 bit";
  }
  return bound;
}

// IEEE 754 demands the correctly rounded root; vector libraries promise a little less. Largest error: 0.5.
Bound sqrt(const BoundContext& context, std::size_t output) {
  return relative(context, output, 1.0, "sqrt bound");
}

// The larger of x and 0: no arithmetic. Which zero -0 becomes is left to the kernel.
Bound relu(const BoundContext& context, std::size_t output) {
  Bound bound;
  bound.error = at::zeros_like(context.oracle[output]);
  bound.criterion = "exact";
  bound.source = "E = 0: values are moved, not computed";
  return bound;
}

// Vectorised kernels for 16 bit take a polynomial (Abramowitz and Stegun, 7.1.26) whose error is absolute, up
// to 5.5 u32: tiny results are wrong in every digit. In FP32 the largest error is 0.24.
Bound erf(const BoundContext& context, std::size_t output) {
  Bound bound = relative(context, output, context.rules.bounds.c, "erf bound");
  if (is_16_bit(context.operand_type)) {
    bound.error.add_(6.0 * kUnitFp32);
    bound.source += " + 6 u32";
  }
  return bound;
}

// Largest error before rounding, in u32, on an AVX-512 CPU: 0.45 over all FP16 inputs, 0 over all BF16
// inputs, 0.08 over all FP32 inputs with 2^-12 <= |x| < 2^7. c leaves room for devices whose exponential is
// good to two units in the last place.
Bound exp(const BoundContext& context, std::size_t output) {
  return relative(context, output, context.rules.bounds.c, "exp bound");
}

}  // namespace ampgate::validate::bounds
