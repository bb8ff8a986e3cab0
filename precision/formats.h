// Number formats: their constants, and conversions from float64 that round once, to nearest even.
// LibTorch's own conversion of float64 to 16 bit goes through float32 and rounds twice.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace ampgate::precision {

struct Format {
  int significand_bits;  // with the hidden bit: 24, 11, 8
  int min_exponent;      // of the smallest normal number: -126, -14, -126
  double max;            // largest finite value
  double unit_roundoff() const;
  double smallest_subnormal() const;
};

// float32, float16, bfloat16, float64. Throws std::invalid_argument for any other type.
const Format& format_of(c10::ScalarType type);

// float16 or bfloat16.
constexpr bool is_16_bit(c10::ScalarType type) {
  return type == c10::ScalarType::Half || type == c10::ScalarType::BFloat16;
}

// RN(value) to the format, as a float64: overflow gives ±inf, subnormals are kept, -0 stays -0, NaN stays
// NaN.
double round_to(double value, const Format& format);

// The same for a whole float64 CPU tensor; the result has `type` and the tensor's sizes, contiguous.
at::Tensor round_tensor(const at::Tensor& float64, c10::ScalarType type);

// The real numbers that RN maps to one value of the format. Both ends belong to it when the significand is
// even, neither when it is odd. An infinity's interval begins at the overflow threshold. Float64: the value
// alone.
struct RoundingInterval {
  double low;
  double high;
  bool closed;
  bool reaches_from_below(double x) const { return x > low || (closed && x == low); }
  bool reaches_from_above(double x) const { return x < high || (closed && x == high); }
};

// `value` is a value of the format, or an infinity; not NaN.
RoundingInterval rounding_interval(double value, const Format& format);

// How many representable values apart two finite values of the format are; -0 and +0 are the same value.
std::int64_t ulp_distance(double a, double b, const Format& format);

}  // namespace ampgate::precision
