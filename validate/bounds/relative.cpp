// Compiled code that nobody can look into, against other compiled code: the RMS error as a share of the
// output's RMS that the case accepts, and a wide limit for each element. What is accepted is `suspect`: no
// bound explains it.
#include <ATen/ATen.h>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"
#include "validate/elements.h"
#include "validate/text.h"

namespace ampgate::validate::bounds {

Bound relative(const BoundContext& context, std::size_t output) {
  constexpr double kElementLimits = 8.0;  // of the RMS error allowed
  const at::Tensor& y = context.oracle[output];
  Bound bound;
  bound.rms_limit =
      context.spec.eps * finite_rms(y) + precision::format_of(context.output_type).smallest_subnormal();
  bound.error = at::full_like(y, kElementLimits * bound.rms_limit);
  bound.criterion = "relative limit of the case";
  bound.source = "RMS error against " + text(context.spec.eps) +
                 " x the output's RMS, as the case says; each element against " + text(kElementLimits) +
                 " x as much";
  return bound;
}

}  // namespace ampgate::validate::bounds
