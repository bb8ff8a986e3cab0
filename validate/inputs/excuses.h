// Where two results are right on edge inputs, or where none is promised.
#pragma once

#include <ATen/core/Tensor.h>

#include "cases/case.h"
#include "validate/reference.h"

namespace ampgate::validate {

// The output with the oracle's value, rounded, at the elements for which there is an excuse:
// - padding: a convolution multiplies padding or leaves it out; 0·inf and 0·NaN are NaN (IEEE 754, 7.2), so
//   either is right where weights are not finite and padding reaches.
// - the sum of the magnitudes overflows the type in which sums are kept: a partial sum may overflow and then
//   meet the opposite infinity, whatever the exact sum is.
at::Tensor excused(const cases::Case& definition, const cases::BoundSpec& bound, const Reference& reference,
                   const at::Tensor& output, std::size_t number);

}  // namespace ampgate::validate
