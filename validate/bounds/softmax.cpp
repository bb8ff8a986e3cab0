// Softmax and its relatives. With m the maximum and s = Σ e^(x − m), an error of u32·|x − m| in an exponent
// is a relative error of the term; the sum adds c + λ√n.
#include "validate/bounds/softmax.h"

#include <cmath>

#include "precision/formats.h"
#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {

SoftmaxTerms softmax_terms(const at::Tensor& x, std::int64_t dim) {
  SoftmaxTerms terms;
  const at::Tensor shifted = x - x.amax(dim, true);
  const at::Tensor sum = shifted.exp().sum(dim, true);
  // A masked element (-inf) has p = 0 exactly: its distance must not make 0·inf.
  terms.distance = shifted.abs().masked_fill_(shifted.isinf(), 0.0);
  terms.probability = shifted.exp().div_(sum);
  terms.log_sum = sum.log();
  terms.mean_distance = (terms.probability * terms.distance).sum(dim, true);
  return terms;
}

at::Tensor log_softmax_error(const BoundContext& context, const at::Tensor& x, std::int64_t dim,
                             const at::Tensor& y) {
  const auto& rules = context.rules.bounds;
  const SoftmaxTerms terms = softmax_terms(x, dim);
  const double constant = rules.c + rules.lambda * std::sqrt(static_cast<double>(x.size(dim)));
  at::Tensor error = (terms.distance + terms.log_sum + terms.mean_distance + y.abs())
                         .mul_(2.0)
                         .add_(constant)
                         .mul_(kUnitFp32);
  // Kernels for 16 bit keep the maximum plus logarithm of the sum in 16 bit along the last dimension.
  if (is_16_bit(context.output_type) && dim == x.dim() - 1) {
    error.add_((terms.log_sum + 1.0).mul_(unit_of(context.output_type)));
  }
  return error;
}

Bound softmax(const BoundContext& context, std::size_t output) {
  const at::Tensor& x = operand(context, "x");
  const std::int64_t dim = dimensions(context, x.dim()).front();
  const auto& rules = context.rules.bounds;
  const SoftmaxTerms terms = softmax_terms(x, dim);
  const at::Tensor& p = context.oracle[output];
  const double constant = rules.c + rules.lambda * std::sqrt(static_cast<double>(x.size(dim)));
  at::Tensor relative = (terms.distance + terms.mean_distance).mul_(2.0).add_(constant).mul_(kUnitFp32);
  double floor = 2.0 * kSmallestNormal;
  if (is_16_bit(context.output_type) && dim != x.dim() - 1) {
    const auto& format = precision::format_of(context.output_type);
    relative.add_(2.0 * format.unit_roundoff());
    floor += format.smallest_subnormal() / 2.0;
  }
  Bound bound;
  bound.error = relative.mul_(p).add_(floor);
  bound.criterion = "softmax bound";
  bound.source =
      "p u32 (c + lambda sqrt n + 2|x - m| + 2 sum p|x - m|) + 2^-125; 16 bit along an outer dimension + 2 "
      "u16 p";
  return bound;
}

Bound log_softmax(const BoundContext& context, std::size_t output) {
  const at::Tensor& x = operand(context, "x");
  Bound bound;
  bound.error = log_softmax_error(context, x, dimensions(context, x.dim()).front(), context.oracle[output]);
  bound.criterion = "log-softmax bound";
  bound.source =
      "u32 (c + lambda sqrt n + 2|x - m| + 2 log s + 2 sum p|x - m| + 2|y|); 16 bit along the last dimension "
      "+ u16 (1 + log s)";
  return bound;
}

}  // namespace ampgate::validate::bounds
