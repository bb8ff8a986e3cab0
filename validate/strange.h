// A cheap look at a whole output for the elements that a sample should not miss.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace ampgate::validate {

// Positions of at most `count` elements, each from another stretch of the output: those that are NaN or
// infinite, and those that are farthest from the baseline's, or without a baseline the largest. One pass over
// both tensors. `baseline` may be null; one of other sizes is not looked at.
std::vector<std::vector<std::int64_t>> strange_elements(const at::Tensor& output, const at::Tensor* baseline,
                                                        std::size_t count);

}  // namespace ampgate::validate
