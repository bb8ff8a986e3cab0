// What the families share: operands by name, unit roundoffs, and the error of a sum of K terms.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <string_view>

#include "precision/formats.h"
#include "validate/bounds.h"

namespace ampgate::validate::bounds {

inline constexpr double kUnitFp32 = 0x1p-24;         // unit roundoff of FP32, in which kernels accumulate
inline constexpr double kSmallestNormal = 0x1p-126;  // of FP32 and BF16
inline constexpr double kSmallestSubnormal = 0x1p-149;

using precision::is_16_bit;

// Unit roundoff of a type.
double unit_of(c10::ScalarType type);

// Throws std::logic_error that names the case and the tensor.
const at::Tensor& operand(const BoundContext& context, std::string_view name);
// Null when the case has none.
const at::Tensor* optional_operand(const BoundContext& context, std::string_view name);

// Dimensions of the spec as non-negative numbers for a tensor of `rank` dimensions. Throws std::logic_error.
std::vector<std::int64_t> dimensions(const BoundContext& context, std::int64_t rank);

// y = Σ t_k over the K terms of each output element. FP64, sizes of the output.
struct Sums {
  at::Tensor y;
  at::Tensor absolute;        // S = Σ |t_k|
  at::Tensor squares;         // Q = Σ t_k²
  at::Tensor prefix_squares;  // Σ_k s_k², s_k = t_1 + ... + t_k
};

// λ·u·T, T² = max(K·y²/3 + max(K·Q − y², 0)/6 + [Q if the terms are rounded products], Σ s_k²). T is the root
// sum of squares of the partial sums, over all orders or in the natural one, whichever is larger: each rounding is at most u times a
// partial sum, and independent roundings add up as their squares (error / (u·T) was Gaussian with a standard
// deviation below 0.43). `length` is K, one number or one per output element.
at::Tensor probable_error(const Sums& sums, const at::Tensor& length, double unit, double lambda,
                          bool rounded_terms);

// γ_K·S, γ_K = K·u / (1 − K·u): no order of summation exceeds it (Higham, Accuracy and Stability, 3.1
// and 4.2). Infinite where K·u >= 1.
at::Tensor certain_error(const Sums& sums, const at::Tensor& length, double unit);

// `certain`, but 0 where γ_K is above 1/2: an error of half of all that is added up is not explained by the
// order of additions, and E alone counts.
at::Tensor explaining(const at::Tensor& certain, const at::Tensor& length, double unit);

// Σ over the last dimension of `terms` (..., K), partial sums taken at 32 places.
Sums sums_of(const at::Tensor& terms);

// E and hard bound of a plain FP32 sum: min(λ·u·T, γ_K·S), γ_K·S.
Bound sum_bound(const BoundContext& context, const Sums& sums, const at::Tensor& length);

at::Tensor scalar(double value);

}  // namespace ampgate::validate::bounds
