#include "validate/bounds/common.h"

#include <limits>
#include <stdexcept>

namespace ampgate::validate::bounds {

double unit_of(c10::ScalarType type) { return precision::format_of(type).unit_roundoff(); }

const at::Tensor* optional_operand(const BoundContext& context, std::string_view name) {
  return context.inputs.find(name);
}

const at::Tensor& operand(const BoundContext& context, std::string_view name) {
  const at::Tensor* tensor = optional_operand(context, name);
  if (tensor == nullptr) {
    throw std::logic_error(context.name + ": its error bound needs a tensor '" + std::string(name) + "'");
  }
  return *tensor;
}

std::vector<std::int64_t> dimensions(const BoundContext& context, std::int64_t rank) {
  std::vector<std::int64_t> result;
  for (const std::int64_t dim : context.spec.dims) {
    if (dim < -rank || dim >= rank) {
      throw std::logic_error(context.name + ": its bound names a dimension that is not there");
    }
    result.push_back(dim < 0 ? dim + rank : dim);
  }
  if (result.empty()) throw std::logic_error(context.name + ": its bound names no dimension");
  return result;
}

at::Tensor scalar(double value) { return at::scalar_tensor(value, at::kDouble); }

at::Tensor probable_error(const Sums& sums, const at::Tensor& length, double unit, double lambda,
                          bool rounded_terms) {
  const at::Tensor y_squared = sums.y.square();
  at::Tensor t_squared = sums.squares.mul(length).sub_(y_squared).clamp_min_(0.0).div_(6.0);
  t_squared.add_(y_squared.mul(length), 1.0 / 3.0);
  if (rounded_terms) t_squared.add_(sums.squares);
  return at::maximum(t_squared, sums.prefix_squares).sqrt_().mul_(lambda * unit);
}

at::Tensor certain_error(const Sums& sums, const at::Tensor& length, double unit) {
  const at::Tensor relative = length.mul(unit);
  const at::Tensor gamma = at::where(relative.lt(1.0), relative / (1.0 - relative),
                                     scalar(std::numeric_limits<double>::infinity()));
  // 0 · inf: a sum of zeros is exact whatever its length.
  return sums.absolute.mul(gamma).masked_fill_(sums.absolute.eq(0.0), 0.0);
}

at::Tensor explaining(const at::Tensor& certain, const at::Tensor& length, double unit) {
  return certain.masked_fill(length.mul(unit).gt(1.0 / 3.0), 0.0);  // K u / (1 - K u) > 1/2
}

Sums sums_of(const at::Tensor& terms) {
  const std::int64_t length = terms.size(-1);
  const std::int64_t step = std::max<std::int64_t>(1, length / 32);
  Sums sums{terms.sum(-1), terms.abs().sum(-1), terms.square().sum(-1), {}};
  at::Tensor partial = at::zeros_like(sums.y);
  sums.prefix_squares = at::zeros_like(sums.y);
  for (std::int64_t start = 0; start < length; start += step) {
    const std::int64_t count = std::min(step, length - start);
    partial.add_(terms.narrow(-1, start, count).sum(-1));
    sums.prefix_squares.addcmul_(partial, partial, static_cast<double>(count));
  }
  return sums;
}

Bound sum_bound(const BoundContext& context, const Sums& sums, const at::Tensor& length) {
  Bound bound;
  const at::Tensor certain = certain_error(sums, length, kUnitFp32);
  bound.hard = explaining(certain, length, kUnitFp32);
  bound.hard_source = "another order of summation";
  bound.error =
      at::minimum(probable_error(sums, length, kUnitFp32, context.rules.bounds.lambda, false), certain);
  return bound;
}

}  // namespace ampgate::validate::bounds
