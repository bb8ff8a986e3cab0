#include "validate/bounds/common.h"
#include "validate/bounds/families.h"

namespace ampgate::validate::bounds {

// Values are moved: the result is the input, bit for bit.
Bound exact(const BoundContext& context, std::size_t output) {
  Bound bound;
  bound.error = at::zeros_like(context.oracle[output]);
  bound.criterion = "exact";
  bound.source = "E = 0: values are moved, not computed";
  bound.exact_zeros = true;
  return bound;
}

}  // namespace ampgate::validate::bounds
