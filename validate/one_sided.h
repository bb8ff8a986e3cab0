// Does an operator round to one side? Rounding to nearest errs to both sides alike, whatever intermediates a
// kernel stores; truncation does not, and no bound that allows a stored intermediate tells the two apart.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace ampgate::validate {

// In words, or empty: three quarters of the inexact results of a 16-bit output, at least 128 of different
// exact values, err to the same side. Correct kernels that store a root or partial sums in 16 bit have 48 to
// 51 % on one side; with 128 fair tosses three quarters is 5.7 standard deviations away. Results of equal
// exact value are one toss. `output` and `oracle` (FP64, CPU) have equal sizes.
std::string one_sided_rounding(const at::Tensor& output, const at::Tensor& oracle);

}  // namespace ampgate::validate
