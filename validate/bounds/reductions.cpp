// Sums, means and prefix sums: inner products with b = 1, whose terms are not rounded.
#include <numeric>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {
namespace {

// "x" with the reduced dimensions flattened to the last one: (kept..., K).
at::Tensor terms_of(const BoundContext& context) {
  const at::Tensor& x = operand(context, "x");
  const auto reduced = dimensions(context, x.dim());
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> sizes;
  for (std::int64_t dim = 0; dim < x.dim(); ++dim) {
    if (std::find(reduced.begin(), reduced.end(), dim) != reduced.end()) continue;
    order.push_back(dim);
    sizes.push_back(x.size(dim));
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  sizes.push_back(-1);
  return x.permute(order).reshape(sizes);
}

// A kernel that reduces a whole tensor by several threads may store their parts in the output's type before
// it adds them up (LibTorch's two-pass reduction on the CPU, beyond 32768 elements): each part is rounded,
// and the parts' squares add up to about Q, and to y² when the terms agree in sign.
void allow_stored_parts(const BoundContext& context, const Sums& sums, std::int64_t terms, Bound& bound) {
  constexpr std::int64_t kOnePass = 32768;
  if (!is_16_bit(context.output_type) || sums.y.numel() != 1 || terms <= kOnePass) return;
  const at::Tensor parts = (sums.squares + sums.y.square()).sqrt_();
  const at::Tensor stored = parts.mul_(context.rules.bounds.lambda * unit_of(context.output_type));
  bound.hard = at::maximum(bound.hard, bound.error + stored);
  bound.hard_source = "another order, or parts stored in 16 bit,";
}

}  // namespace

Bound sum(const BoundContext& context, std::size_t output) {
  const at::Tensor terms = terms_of(context);
  const Sums sums = sums_of(terms);
  Bound bound = sum_bound(context, sums, scalar(static_cast<double>(terms.size(-1))));
  allow_stored_parts(context, sums, terms.size(-1), bound);
  bound.criterion = "sum bound";
  bound.source = "min(lambda u32 T, gamma_n S), T the root sum of squares of the partial sums";
  // keepdim changes sizes, not values.
  bound.error = bound.error.view_as(context.oracle[output]);
  bound.hard = bound.hard.view_as(context.oracle[output]);
  return bound;
}

Bound mean(const BoundContext& context, std::size_t output) {
  Bound bound = sum(context, output);
  const double length = static_cast<double>(terms_of(context).size(-1));
  const at::Tensor division = context.oracle[output].abs().mul_(kUnitFp32);
  bound.criterion = "mean bound";
  bound.source = "E of the sum / n + u32 |y|";
  bound.error.div_(length).add_(division);
  bound.hard.div_(length).add_(division);
  return bound;
}

Bound cumsum(const BoundContext& context, std::size_t output) {
  const at::Tensor& x = operand(context, "x");
  const std::int64_t dim = dimensions(context, x.dim()).front();
  const at::Tensor& y = context.oracle[output];
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.dim()), 1);
  sizes[static_cast<std::size_t>(dim)] = x.size(dim);
  const at::Tensor length = at::arange(1, x.size(dim) + 1, at::kDouble).view(sizes);
  const Sums sums{y, x.abs().cumsum(dim), x.square().cumsum(dim), y.square().cumsum(dim)};
  Bound bound = sum_bound(context, sums, length);
  bound.criterion = "prefix-sum bound";
  bound.source = "the sum's E for each prefix";
  return bound;
}

}  // namespace ampgate::validate::bounds
