#include "backends/scan.h"

#include "backends/kernels/widen.h"

// One copy of a function for each level of x86-64, chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define AMPGATE_ALL_LEVELS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#define AMPGATE_ALL_LEVELS
#endif

namespace ampgate::backends::scan {
namespace {

constexpr std::uint64_t kExponent = 0x7ffULL << 52;

// For the filter to let nothing through, its thresholds are lowered by more than all roundings of the exact
// judgement: those of y ± E are below 2^-52 |y|, and half a unit is at least 2^-26 |y| or the error itself as
// large.
constexpr double kLess = 1.0 - 0x1p-24;

}  // namespace

AMPGATE_ALL_LEVELS
void widen_float(const float* values, double* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = values[i];
}

AMPGATE_ALL_LEVELS
void widen_half(const std::uint16_t* bits, double* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = widen::half(bits[i]);
}

AMPGATE_ALL_LEVELS
void widen_bfloat16(const std::uint16_t* bits, double* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = widen::bfloat16(bits[i]);
}

Filter::Filter(const judge::Rule& rule, const judge::Counts& known)
    : margin(known.worst.margin < 1.0 ? known.worst.margin * kLess : kLess),
      ulps(2.0 * static_cast<double>(known.max_ulp) + 1.0),
      half_unit(judge::power_of_two(-rule.format.significand_bits) * kLess),
      least_half(judge::power_of_two(rule.format.min_exponent - rule.format.significand_bits) * kLess),
      overflow(rule.format.overflow),
      signs(rule.exact_zeros ? judge::kSign : 0) {}

AMPGATE_ALL_LEVELS
Seen errors(const double* out, const double* y, const double* error, const double* limit, std::int64_t count,
            const Filter& filter) {
  const Filter f = filter;
  double sum = 0.0;
  double squared = 0.0;
  double reference = 0.0;
  double largest = 0.0;
  double largest_bound = 0.0;
  std::uint64_t special = 0;
  std::uint64_t remarkable = 0;
#pragma omp simd reduction(+ : sum, squared, reference) reduction(max : largest, largest_bound) \
    reduction(| : special, remarkable)
  for (std::int64_t i = 0; i < count; ++i) {
    const double actual = judge::magnitude_of(out[i]);
    const double expected = judge::magnitude_of(y[i]);
    const double difference = out[i] - y[i];
    const double distance = judge::magnitude_of(difference);
    // Half a unit in the last place of the smaller one: no distance between values near either is shorter.
    const double smaller = actual < expected ? actual : expected;
    const double scaled = judge::from_bits(judge::bits_of(smaller) & kExponent) * f.half_unit;
    const double half = scaled > f.least_half ? scaled : f.least_half;
    // Nearer than this, the margin is not above the worst one; and at most as many ULP lie between.
    const double by_margin = half + f.margin * error[i];
    const double by_ulp = half * f.ulps;
    const double needed = by_margin < by_ulp ? by_margin : by_ulp;
    sum += difference;
    squared += difference * difference;
    reference += y[i] * y[i];
    largest = largest < distance ? distance : largest;
    largest_bound = largest_bound < error[i] ? error[i] : largest_bound;
    // Every comparison is written so that NaN is remarkable.
    remarkable |= distance < needed ? 0ULL : 1ULL;
    remarkable |= error[i] <= limit[i] ? 0ULL : 1ULL;
    remarkable |= (judge::bits_of(out[i]) ^ judge::bits_of(y[i])) & f.signs;
    special |= actual < judge::kInfinity ? 0ULL : 1ULL;
    special |= expected < f.overflow ? 0ULL : 1ULL;
  }
  return {{count, sum, squared, reference, largest}, largest_bound, special != 0, remarkable != 0};
}

AMPGATE_ALL_LEVELS
Seen differences(const double* out, const double* y, std::int64_t count) {
  double sum = 0.0;
  double squared = 0.0;
  double reference = 0.0;
  double largest = 0.0;
  std::uint64_t special = 0;
#pragma omp simd reduction(+ : sum, squared, reference) reduction(max : largest) reduction(| : special)
  for (std::int64_t i = 0; i < count; ++i) {
    const double difference = out[i] - y[i];
    const double distance = judge::magnitude_of(difference);
    sum += difference;
    squared += difference * difference;
    reference += y[i] * y[i];
    largest = largest < distance ? distance : largest;
    special |= judge::magnitude_of(out[i]) < judge::kInfinity ? 0ULL : 1ULL;
    special |= judge::magnitude_of(y[i]) < judge::kInfinity ? 0ULL : 1ULL;
  }
  return {{count, sum, squared, reference, largest}, 0.0, special != 0, false};
}

AMPGATE_ALL_LEVELS
judge::Squares squares(const double* values, std::int64_t count) {
  double sum = 0.0;
  std::int64_t finite = 0;
#pragma omp simd reduction(+ : sum, finite)
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_finite = judge::magnitude_of(values[i]) < judge::kInfinity;
    const double value = is_finite ? values[i] : 0.0;
    sum += value * value;
    finite += is_finite ? 1 : 0;
  }
  return {finite, sum};
}

AMPGATE_ALL_LEVELS
hash::Lanes sum_words(const void* data, std::uint64_t bytes, std::uint64_t first) {
  const auto* const base = static_cast<const unsigned char*>(data);
  const std::uint64_t whole = bytes / 8;
  std::uint64_t one = 0;
  std::uint64_t two = 0;
#pragma omp simd reduction(+ : one, two)
  for (std::uint64_t i = 0; i < whole; ++i) {
    std::uint64_t word;
    memcpy(&word, base + i * 8, 8);
    const hash::Lanes lanes = hash::mix_word(word, first + i);
    one += lanes.first;
    two += lanes.second;
  }
  hash::Lanes sum{one, two};
  if (bytes % 8 != 0) {
    std::uint64_t word = 0;
    memcpy(&word, base + whole * 8, bytes % 8);
    hash::add(sum, hash::mix_word(word, first + whole));
  }
  return sum;
}

}  // namespace ampgate::backends::scan
