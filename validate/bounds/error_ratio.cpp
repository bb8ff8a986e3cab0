// Operators of no known family: the RMS error against that of rounding the oracle, and a wide limit for each
// element, so that no single one goes astray. What is accepted is `suspect`: no bound explains it.
#include <ATen/ATen.h>

#include <cmath>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"
#include "validate/elements.h"
#include "validate/text.h"

namespace ampgate::validate::bounds {
namespace {

constexpr std::int64_t kFewElements = 256;
constexpr double kElementLimits = 8.0;  // of the RMS error allowed
constexpr double kElementUnits = 3.0;   // and of u |y|, where a few large elements carry the RMS

double elements_read(const cases::State& state) {
  double count = 0.0;
  for (const auto& entry : state.tensors) {
    if (entry.tensor.is_floating_point()) count += static_cast<double>(entry.tensor.numel());
  }
  return count;
}

// How ill-conditioned the result is as a whole. Of few elements, over several draws.
double sensitivity(const BoundContext& context, std::size_t output) {
  const int draws = context.oracle[output].numel() < kFewElements ? 8 : 1;
  return finite_rms(sensitivity_squared(context, output, draws).sqrt_());
}

}  // namespace

// RMS error <= ratio RMS(RN(y) - y) + smallest subnormal, with room for what the ratio does not know: that
// the rounding of a few elements may be luckily small, that sums of n terms are kept in FP32, and that a
// function of one number is known in FP32 to some units in the last place (LibTorch's i0 to four).
Bound error_ratio(const BoundContext& context, std::size_t output) {
  const at::Tensor& y = context.oracle[output];
  const auto& format = precision::format_of(context.output_type);
  const double unit = format.unit_roundoff();
  double rounding = finite_rms(precision::round_tensor(y, context.output_type).to(at::kDouble) - y);
  if (y.numel() < kFewElements) rounding = std::max(rounding, 0.5 * unit * finite_rms(y));
  const double terms = y.numel() == 0 ? 1.0 : elements_read(context.inputs) / static_cast<double>(y.numel());
  const double accumulation = context.rules.bounds.lambda * std::sqrt(std::max(1.0, terms)) *
                              std::hypot(sensitivity(context, output), kUnitFp32 * finite_rms(y));

  Bound bound;
  bound.rms_limit = context.rules.bounds.error_ratio * rounding + accumulation + format.smallest_subnormal();
  bound.error = y.abs().mul_(kElementUnits * unit).add_(kElementLimits * bound.rms_limit);
  bound.criterion = "error ratio";
  bound.source = "RMS error against " + text(context.rules.bounds.error_ratio) +
                 " x that of rounding alone; each element against " + text(kElementLimits) + " x as much + " +
                 text(kElementUnits) + " u |y|";
  return bound;
}

}  // namespace ampgate::validate::bounds
