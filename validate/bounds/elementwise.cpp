// Arithmetic on elements, and functions of them whose kernels are good to about a unit in the last place.
#include <cmath>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {
namespace {

// Weights that are differences of coordinates are known to FP32's digits of the coordinate, `eps` at most: a
// coordinate that is off by u32 eps moves the result by as much of the difference of two neighbours, at most
// 2 max|x| over the plane. Kernels for 16 bit may keep weights and the results along one axis in that type.
void add_coordinates(const BoundContext& context, std::size_t output, Bound& bound) {
  const at::Tensor& x = operand(context, "x");
  std::vector<std::int64_t> axes;
  for (std::int64_t dim = 2; dim < x.dim(); ++dim) axes.push_back(dim);
  const at::Tensor largest = at::nan_to_num(x, 0.0, 0.0, 0.0)
                                 .abs()
                                 .amax(axes, /*keepdim=*/true)
                                 .expand(context.oracle[output].sizes());
  bound.error = bound.error + largest * (4.0 * context.spec.eps * kUnitFp32);
  bound.criterion = "interpolation bound";
  bound.source += " + 4 u32 s max|x|, s the largest coordinate";
  if (!is_16_bit(context.output_type)) return;
  const double steps = 2.0 * static_cast<double>(axes.size());
  bound.hard = bound.error + largest * (steps * unit_of(context.output_type));
  bound.hard_source = "weights or partial results kept in 16 bit";
}

}  // namespace

// IEEE arithmetic rounds once: what is computed in FP32 and stored in FP32 is RN(y), E = 0. Further roundings
// (to 16 bit afterwards, of a scalar, of a product that is added) are u32 each, relative to y or the summand.
Bound arithmetic(const BoundContext& context, std::size_t output) {
  const double roundings = static_cast<double>(context.spec.length) * kUnitFp32;
  Bound bound;
  bound.error = context.oracle[output].abs().mul_(roundings);
  if (const at::Tensor* added = optional_operand(context, "added")) {
    bound.error.add_(added->abs(), roundings + context.spec.eps);
  }
  bound.criterion = "arithmetic bound";
  bound.source =
      "u32 (|y| + |summand|) for each FP32 rounding before the last (IEEE 754); 16 bit + 2 u16 |alpha x|";
  return bound;
}

// Vectorised kernels state 1 ulp (SLEEF's u10 functions), which is 2 u32; c leaves room for devices.
Bound unary(const BoundContext& context, std::size_t output) {
  Bound bound;
  const double relative = context.rules.bounds.c * kUnitFp32 + context.spec.eps;
  bound.error = context.oracle[output].abs().mul_(relative).add_(kSmallestNormal);
  bound.criterion = "unary bound";
  bound.source = "c u32 |y| + 2^-126; what a kernel rounds to 16 bit on the way is added";
  return bound;
}

// Inside, values as large as 1 or x cancel.
Bound activation(const BoundContext& context, std::size_t output) {
  const at::Tensor& x = operand(context, "x");
  Bound bound;
  bound.error = (context.oracle[output].abs() + x.abs()).add_(1.0).mul_(context.rules.bounds.c * kUnitFp32);
  bound.criterion = "activation bound";
  bound.source = "c u32 (1 + |x| + |y|)";
  return bound;
}

// No order of a sum of n terms is far beyond λ√n roundings of Σ w|x|, which the map itself gives for |x|.
Bound linear_map(const BoundContext& context, std::size_t output) {
  cases::State magnitudes = context.inputs;
  for (auto& entry : magnitudes.tensors) {
    if (entry.tensor.is_floating_point()) entry.tensor = entry.tensor.abs();
  }
  const auto& rules = context.rules.bounds;
  const double roundings = rules.c + rules.lambda * std::sqrt(static_cast<double>(context.spec.length));
  Bound bound;
  bound.error = context.evaluate(magnitudes)[output].mul(roundings * kUnitFp32);
  bound.criterion = "linear-map bound";
  bound.source = "u32 (c + lambda sqrt n) sum w|x|";
  if (context.spec.eps > 0.0) add_coordinates(context, output, bound);
  return bound;
}

}  // namespace ampgate::validate::bounds
