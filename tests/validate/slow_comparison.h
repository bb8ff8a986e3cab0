// The acceptance rule element by element, as it is defined: both ends rounded. Slow, and right by inspection.
#pragma once

#include <ATen/ATen.h>

#include "validate/compare.h"

namespace ampgate::validate {

// Everything but `digest` and `position`'s values, for contiguous tensors.
Comparison slow_comparison(const at::Tensor& actual, const at::Tensor& oracle, const Bound& bound,
                           const results::Rules& rules);

// Expects every member of both to agree, sums to rounding.
void expect_same(const Comparison& fast, const Comparison& slow);

}  // namespace ampgate::validate
