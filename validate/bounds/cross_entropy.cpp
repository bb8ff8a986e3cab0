// Cross entropy with class indices: the mean over N rows of ℓ = −log_softmax(x)[target].
#include "validate/bounds/common.h"
#include "validate/bounds/families.h"
#include "validate/bounds/softmax.h"

namespace ampgate::validate::bounds {

Bound cross_entropy(const BoundContext& context, std::size_t output) {
  const at::Tensor& x = operand(context, "x");
  const at::Tensor target = operand(context, "target").unsqueeze(1);
  const at::Tensor y = x.log_softmax(1);
  const at::Tensor losses = y.gather(1, target).squeeze(1);
  const at::Tensor row_error = log_softmax_error(context, x, 1, y).gather(1, target).mean();
  const double rows = static_cast<double>(x.size(0));

  const Bound sum = sum_bound(context, sums_of(losses), scalar(rows));
  Bound bound;
  bound.error = row_error + sum.error / rows + context.oracle[output].abs() * kUnitFp32;
  // In 16 bit the losses are stored and their sum is rounded before it is divided.
  if (is_16_bit(context.output_type)) {
    bound.error = bound.error + losses.abs().mean() * (5.0 * unit_of(context.output_type));
  }
  bound.criterion = "cross-entropy bound";
  bound.source = "mean E of log_softmax + E of the mean; 16 bit + 5 u16 mean|loss|";
  return bound;
}

}  // namespace ampgate::validate::bounds
