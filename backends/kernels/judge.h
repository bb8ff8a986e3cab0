// How one element of an output is judged against its FP64 oracle, the same source for host compilers, nvcc
// and hipcc: accepted iff RN(y - E) <= out <= RN(y + E), where RN rounds to the output's format, to nearest
// even. That is decided from the other side: by the interval of real numbers that RN maps to `out`, whose
// ends float64 holds exactly, so that nothing is rounded twice.
#pragma once

#include <cmath>

#include "backends/kernels/hash.h"

namespace ampgate::backends::judge {

inline constexpr double kInfinity = __builtin_inf();
inline constexpr std::int64_t kBias = 1023;  // of float64's exponent
inline constexpr std::uint64_t kFraction = (1ULL << 52) - 1;
inline constexpr std::uint64_t kSign = 1ULL << 63;

AMPGATE_HOST_DEVICE inline std::uint64_t bits_of(double value) {
  std::uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
AMPGATE_HOST_DEVICE inline double from_bits(std::uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
AMPGATE_HOST_DEVICE inline double magnitude_of(double value) { return from_bits(bits_of(value) & ~kSign); }
AMPGATE_HOST_DEVICE inline bool is_nan(double value) { return value != value; }
AMPGATE_HOST_DEVICE inline bool is_finite(double value) { return magnitude_of(value) < kInfinity; }
AMPGATE_HOST_DEVICE inline bool is_negative(double value) { return (bits_of(value) & kSign) != 0; }
AMPGATE_HOST_DEVICE inline double larger(double a, double b) { return a < b ? b : a; }
AMPGATE_HOST_DEVICE inline double power_of_two(std::int64_t exponent) {
  return from_bits(static_cast<std::uint64_t>(exponent + kBias) << 52);
}

// Of the output; 53 bits: float64 itself, in which nothing is rounded.
struct Format {
  int significand_bits;  // with the hidden bit
  int min_exponent;      // of the smallest normal number
  double overflow;       // the smallest magnitude that rounds to infinity

  AMPGATE_HOST_DEVICE bool is_float64() const { return significand_bits == 53; }
  // Exponent of a magnitude, where subnormals have that of the smallest normal number.
  AMPGATE_HOST_DEVICE std::int64_t exponent_of(double magnitude) const {
    const std::int64_t exponent = static_cast<std::int64_t>(bits_of(magnitude) >> 52) - kBias;
    return exponent < min_exponent ? min_exponent : exponent;
  }
};

// The reals that RN maps to a magnitude. Both ends belong to it, or neither.
struct Interval {
  double low;
  double high;
  bool closed;
  AMPGATE_HOST_DEVICE bool reached_from_below(double x) const { return x > low || (closed && x == low); }
  AMPGATE_HOST_DEVICE bool reached_from_above(double x) const { return x < high || (closed && x == high); }
  AMPGATE_HOST_DEVICE bool accepts(double y, double error) const {
    return reached_from_below(y + error) && reached_from_above(y - error);
  }
};

// How many values of the format lie below RN(magnitude), which must be finite.
AMPGATE_HOST_DEVICE inline std::int64_t index_of(double magnitude, const Format& format) {
  if (format.is_float64()) return static_cast<std::int64_t>(bits_of(magnitude));
  const std::int64_t exponent = format.exponent_of(magnitude);
  // In units of the last place; adding 2^52 rounds to a whole number, to nearest even, and shows it in the
  // low bits.
  const double units = magnitude * power_of_two(format.significand_bits - 1 - exponent);
  const auto whole = static_cast<std::int64_t>(bits_of(units + 0x1p52) & kFraction);
  return whole + ((exponent - format.min_exponent) << (format.significand_bits - 1));
}

// `magnitude` is a value of the format, or infinity, whose interval begins at the overflow threshold.
AMPGATE_HOST_DEVICE inline Interval interval_of(double magnitude, const Format& format) {
  if (format.is_float64()) return {magnitude, magnitude, true};
  if (magnitude == kInfinity) return {format.overflow, kInfinity, true};
  const std::int64_t exponent = format.exponent_of(magnitude);
  const double half_step = power_of_two(exponent - format.significand_bits);
  // Below a power of two the values lie twice as close, but for the smallest normal number.
  const bool closer = (bits_of(magnitude) & kFraction) == 0 && exponent > format.min_exponent;
  const bool even = index_of(magnitude, format) % 2 == 0;
  return {magnitude - (closer ? half_step / 2.0 : half_step), magnitude + half_step, even};
}

// The element that is worst so far: the largest margin; of equal ones the largest error; of these the first.
struct Worst {
  std::int64_t index = -1;  // none yet
  double margin = 0.0;
  double error = 0.0;

  AMPGATE_HOST_DEVICE void take(std::int64_t other, double other_margin, double other_error) {
    const bool same = other_margin == margin && other_error == error;
    if (index >= 0 && !(other_margin > margin) && !(other_margin == margin && other_error > error) &&
        !(same && other < index)) {
      return;
    }
    index = other;
    margin = other_margin;
    error = other_error;
  }
};

struct Counts {
  std::int64_t judged = 0;  // by a mask or by the bound; the others are ill-conditioned
  std::int64_t rejected = 0;
  std::int64_t between = 0;  // outside E, within the hard bound
  std::int64_t nan_mismatch = 0;
  std::int64_t inf_mismatch = 0;
  std::int64_t ill_conditioned = 0;
  std::int64_t max_ulp = 0;  // between out and RN(y), where both are finite
  Worst worst;

  AMPGATE_HOST_DEVICE void merge(const Counts& other) {
    judged += other.judged;
    rejected += other.rejected;
    between += other.between;
    nan_mismatch += other.nan_mismatch;
    inf_mismatch += other.inf_mismatch;
    ill_conditioned += other.ill_conditioned;
    if (other.max_ulp > max_ulp) max_ulp = other.max_ulp;
    if (other.worst.index >= 0) worst.take(other.worst.index, other.worst.margin, other.worst.error);
  }
};

// Errors out - y, where out and RN(y) are finite.
struct Errors {
  std::int64_t finite = 0;
  double sum = 0.0;
  double sum_of_squares = 0.0;
  double reference_squares = 0.0;  // Σ y²
  double largest = 0.0;            // magnitude

  AMPGATE_HOST_DEVICE void merge(const Errors& other) {
    finite += other.finite;
    sum += other.sum;
    sum_of_squares += other.sum_of_squares;
    reference_squares += other.reference_squares;
    largest = larger(largest, other.largest);
  }
};

// Of the finite values of a row of the oracle, whose root mean square is the row's own scale.
struct Squares {
  std::int64_t finite = 0;
  double sum = 0.0;

  AMPGATE_HOST_DEVICE void merge(const Squares& other) {
    finite += other.finite;
    sum += other.sum;
  }
  // What E may be at most: `share` of the scale. Errors of a few smallest normal FP32 numbers don't make a
  // row of zeros ill-conditioned.
  AMPGATE_HOST_DEVICE double limit(double share) const {
    constexpr double kNegligible = 0x1p-124;
    return larger(kNegligible, finite == 0 ? 0.0 : share * sqrt(sum / static_cast<double>(finite)));
  }
};

struct Rule {
  Format format;
  bool exact_zeros;  // -0 and +0 are different results

  // Neither is infinite or NaN once rounded.
  AMPGATE_HOST_DEVICE bool both_finite(double out, double y) const {
    return is_finite(out) && magnitude_of(y) < format.overflow;
  }
};

struct Element {
  std::int64_t index;  // in logical order
  double out;
  double y;
  double error;  // E
  double hard;   // the hard bound; negative: none
  double limit;  // an E above it is ill-conditioned
};

AMPGATE_HOST_DEVICE inline void measure(Errors& errors, const Rule& rule, double out, double y) {
  if (!rule.both_finite(out, y)) return;
  const double error = out - y;
  ++errors.finite;
  errors.sum += error;
  errors.sum_of_squares += error * error;
  errors.reference_squares += y * y;
  errors.largest = larger(errors.largest, magnitude_of(error));
}

// The margin is (error - rounding) / E: the part of E that is needed for RN(y ± margin E) to reach out.
AMPGATE_HOST_DEVICE inline void judge(Counts& counts, const Rule& rule, const Element& element) {
  const double out = element.out;
  const bool nan_differs = is_nan(out) != is_nan(element.y);
  if (nan_differs || !is_finite(element.y)) {
    ++counts.judged;
    if (!nan_differs && (is_nan(element.y) || out == element.y)) return;
    ++(nan_differs ? counts.nan_mismatch : counts.inf_mismatch);
    ++counts.rejected;
    counts.worst.take(element.index, kInfinity, kInfinity);
    return;
  }

  // Mirrored, so that out is not negative: rounding to nearest even is symmetric.
  const double magnitude = magnitude_of(out);
  const double y = is_negative(out) ? -element.y : element.y;
  const Interval interval = interval_of(magnitude, rule.format);
  const bool both_finite = rule.both_finite(out, y);
  if (both_finite && !interval.accepts(y, 0.0)) {
    const std::int64_t rounded = index_of(magnitude_of(y), rule.format);
    const std::int64_t apart = index_of(magnitude, rule.format) - (is_negative(y) ? -rounded : rounded);
    if (const std::int64_t ulp = apart < 0 ? -apart : apart; ulp > counts.max_ulp) counts.max_ulp = ulp;
  }

  const double error = element.error;
  const bool wrong_zero = rule.exact_zeros && out == 0.0 && y == 0.0 && is_negative(y);
  const bool accepted = interval.accepts(y, error) && !wrong_zero;
  const bool wrong_infinity = !accepted && !both_finite && is_finite(error);
  // Written so that a NaN among the bounds counts as ill-conditioned.
  if (!(error <= element.limit)) {
    ++counts.ill_conditioned;
    if (!wrong_infinity) return;
  }
  ++counts.judged;
  if (!accepted) {
    const bool within_hard = !wrong_zero && element.hard >= 0.0 && interval.accepts(y, element.hard);
    ++(within_hard ? counts.between : counts.rejected);
    if (wrong_infinity && !within_hard) ++counts.inf_mismatch;
  }
  const double excess = larger(larger(0.0, interval.low - y), y - interval.high);
  // At a tie the last bit of y ± E decides, which the quotient need not see.
  constexpr double kJustOutside = 1.0 + 0x1p-52;
  double margin = excess == 0.0 ? 0.0 : excess / error;
  if (accepted && margin > 1.0) margin = 1.0;
  if (!accepted) margin = wrong_zero ? kInfinity : larger(margin, kJustOutside);
  counts.worst.take(element.index, margin, magnitude_of(out - element.y));
}

}  // namespace ampgate::backends::judge
