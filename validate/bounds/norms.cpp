// Normalisations. Mean and variance are sums of n terms, with an error of about u32·√n relative to mean |x|;
// what follows them is a handful of roundings (c).
#include <cmath>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {
namespace {

double relative_error(const BoundContext& context, std::int64_t length) {
  const auto& rules = context.rules.bounds;
  return kUnitFp32 * (rules.c + rules.lambda * std::sqrt(static_cast<double>(length)));
}

// (N, C, ...) against a vector of C values.
at::Tensor per_channel(const at::Tensor& values, std::int64_t rank) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), 1);
  sizes[1] = values.numel();
  return values.reshape(sizes);
}

at::Tensor scaled(const at::Tensor& error, const at::Tensor* weight) {
  return weight == nullptr ? error : error * weight->abs();
}

at::Tensor shifted(const at::Tensor& error, const at::Tensor* bias, double unit) {
  return bias == nullptr ? error : error + bias->abs() * unit;
}

}  // namespace

Bound layer_norm(const BoundContext& context, std::size_t /*output*/) {
  const at::Tensor& x = operand(context, "x");
  std::vector<std::int64_t> dims;
  std::int64_t length = 1;
  for (std::int64_t dim = x.dim() - static_cast<std::int64_t>(context.spec.dims.size()); dim < x.dim();
       ++dim) {
    dims.push_back(dim);
    length *= x.size(dim);
  }
  const at::Tensor centred = x - x.mean(dims, true);
  const at::Tensor deviation = (centred.square().mean(dims, true) + context.spec.eps).sqrt_();
  const at::Tensor error =
      (centred.abs_() + x.abs().mean(dims, true)).div_(deviation).mul_(relative_error(context, length));
  Bound bound;
  bound.error = shifted(scaled(error, optional_operand(context, "weight")), optional_operand(context, "bias"),
                        kUnitFp32);
  bound.criterion = "layer-norm bound";
  bound.source = "u32 (c + lambda sqrt n) |w| (|x - mean| + mean|x|) / sd + u32 |b|";
  return bound;
}

Bound rms_norm(const BoundContext& context, std::size_t output) {
  Bound bound;
  bound.error = context.oracle[output].abs().mul_(relative_error(context, context.spec.length));
  bound.criterion = "rms-norm bound";
  bound.source = "u32 (c + lambda sqrt n) |y|";
  return bound;
}

// |x| beside |x - mean|: kernels compute x·(w/sd) + (b − mean·w/sd), whose two parts cancel.
Bound group_norm(const BoundContext& context, std::size_t /*output*/) {
  const at::Tensor& x = operand(context, "x");
  const at::Tensor grouped = x.reshape({x.size(0), context.spec.groups, -1});
  const at::Tensor centred = grouped - grouped.mean(-1, true);
  const at::Tensor deviation = (centred.square().mean(-1, true) + context.spec.eps).sqrt_();
  const at::Tensor magnitude = grouped.abs();
  const at::Tensor error = (centred.abs_() + magnitude.mean(-1, true) + magnitude)
                               .div_(deviation)
                               .mul_(relative_error(context, grouped.size(-1)))
                               .view_as(x);
  const at::Tensor* weight = optional_operand(context, "weight");
  const at::Tensor* bias = optional_operand(context, "bias");
  Bound bound;
  bound.error = weight == nullptr ? error : error * per_channel(weight->abs(), x.dim());
  if (bias != nullptr) bound.error = bound.error + per_channel(bias->abs(), x.dim()) * kUnitFp32;
  bound.criterion = "group-norm bound";
  bound.source = "u32 (c + lambda sqrt n) |w| (|x - mean| + mean|x| + |x|) / sd + u32 |b|";
  return bound;
}

Bound batch_norm_eval(const BoundContext& context, std::size_t /*output*/) {
  const at::Tensor& x = operand(context, "x");
  const at::Tensor& mean = operand(context, "mean");
  const at::Tensor& variance = operand(context, "variance");
  at::Tensor gain = (variance + context.spec.eps).rsqrt_();
  if (const at::Tensor* weight = optional_operand(context, "weight")) gain = gain * weight->abs();
  at::Tensor error = (x.abs() + per_channel(mean.abs(), x.dim())).mul_(per_channel(gain, x.dim()));
  if (const at::Tensor* bias = optional_operand(context, "bias"))
    error.add_(per_channel(bias->abs(), x.dim()));
  Bound bound;
  bound.error = error.mul_(context.rules.bounds.c * kUnitFp32);
  bound.criterion = "batch-norm bound";
  bound.source = "c u32 ((|x| + |mean|) |w| / sd + |b|)";
  return bound;
}

}  // namespace ampgate::validate::bounds
