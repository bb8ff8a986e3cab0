#include "cases/fills.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace ampgate::cases {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
constexpr std::int64_t kGrain = 32768;

// The output function of SplitMix64 (Steele, Lea, Flood 2014): a bijection whose outputs look random.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// Number `counter` of the SplitMix64 sequence that starts at `stream`.
constexpr std::uint64_t word(std::uint64_t stream, std::uint64_t counter) {
  return mix(stream + (counter + 1) * kGolden);
}

// Bytes, then the length: ("ab", "c") and ("a", "bc") differ.
std::uint64_t absorb(std::uint64_t state, std::string_view text) {
  for (const char byte : text) state = mix(state + kGolden + static_cast<unsigned char>(byte));
  return mix(state + kGolden + text.size());
}

double nearest_power_of_two(double scale) {
  if (!(scale > 0.0) || std::isinf(scale)) throw std::invalid_argument("a fill's scale must be positive");
  int exponent = 0;
  const double fraction = std::frexp(scale, &exponent);  // in [0.5, 1)
  return std::ldexp(1.0, fraction >= 0.75 ? exponent : exponent - 1);
}

template <typename T, typename Function>
at::Tensor generate(FillKind kind, at::IntArrayRef sizes, at::ScalarType type, const Function& value) {
  if (kind == FillKind::kNone) return at::empty(sizes, at::device(at::kMeta).dtype(type));
  at::Tensor result = at::empty(sizes, type);
  T* const data = result.mutable_data_ptr<T>();
  at::parallel_for(0, result.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) data[i] = value(static_cast<std::uint64_t>(i));
  });
  return result;
}

// Twelve uniform 21-bit integers: their sum has mean 12 (2^21 - 1) / 2, a standard deviation of 2^21 (1 -
// 2^-43) and, less the mean, 24 bits, so that the result is exact and fills the whole significand of FP32.
float normal_value(std::uint64_t stream, std::uint64_t index, float scale) {
  constexpr int kBits = 21;
  constexpr std::uint64_t kMask = (1u << kBits) - 1;
  std::int32_t sum = -6 * static_cast<std::int32_t>(kMask);
  for (std::uint64_t part = 0; part < 4; ++part) {
    const std::uint64_t bits = word(stream, 4 * index + part);
    const std::uint64_t pieces = (bits & kMask) + ((bits >> kBits) & kMask) + ((bits >> (2 * kBits)) & kMask);
    sum += static_cast<std::int32_t>(pieces);
  }
  return static_cast<float>(sum) * (scale * 0x1p-21f);
}

float zero_value(std::uint64_t, std::uint64_t index) { return index % 2 == 0 ? 0.0f : -0.0f; }

// Bits 0-22 are the fraction, 31 the sign; 32-34 choose the format whose subnormals these are.
float subnormal_value(std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = word(stream, index);
  const auto sign_and_fraction = static_cast<std::uint32_t>(bits) & 0x807FFFFF;
  if (((bits >> 32) & 7) == 0) return std::bit_cast<float>(sign_and_fraction | 1);
  const auto exponent = static_cast<std::uint32_t>((bits >> 35) % 10) + 127 - 24;
  return std::bit_cast<float>(sign_and_fraction | (exponent << 23));
}

// ±32768 to ±65504, whole numbers.
float large_value(std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = word(stream, index);
  const auto magnitude = static_cast<float>(32768 + (bits >> 1) % 32737);
  return (bits & 1) != 0 ? -magnitude : magnitude;
}

// ±2^127 to BF16's largest finite value, 0x1.FEp127.
float huge_value(std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = word(stream, index);
  const auto fraction = static_cast<std::uint32_t>((bits >> 1) % 0x7F0001);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 1) << 31 | 254u << 23 | fraction);
}

// `values` at places that are equally far apart, from a seeded one on, so that they differ where there are
// that many elements.
void put(std::uint64_t stream, const at::Tensor& tensor, const std::vector<float>& values) {
  const std::int64_t size = tensor.numel();
  if (size == 0) return;
  const auto start = static_cast<std::int64_t>(word(~stream, 0) % static_cast<std::uint64_t>(size));
  float* const data = tensor.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    data[(start + i * size / std::ssize(values)) % size] = values[static_cast<std::size_t>(i)];
  }
}

}  // namespace

std::string_view fill_name(FillKind kind) {
  switch (kind) {
    case FillKind::kOrdinary:
      return "ordinary";
    case FillKind::kZeros:
      return "zeros";
    case FillKind::kSubnormal:
      return "subnormal";
    case FillKind::kLarge:
      return "large";
    case FillKind::kHuge:
      return "huge";
    case FillKind::kNaN:
      return "nan";
    case FillKind::kInfinite:
      return "infinite";
    case FillKind::kNone:
      return "none";
  }
  throw std::invalid_argument("no such kind of fill");
}

const std::vector<FillKind>& edge_fills() {
  static const std::vector<FillKind> kinds{FillKind::kZeros, FillKind::kSubnormal, FillKind::kLarge,
                                           FillKind::kHuge,  FillKind::kNaN,       FillKind::kInfinite};
  return kinds;
}

Fill::Fill(std::uint64_t seed, std::string case_name, std::string shape_name, FillKind kind)
    : seed_(seed), case_name_(std::move(case_name)), shape_name_(std::move(shape_name)), kind_(kind) {}

std::uint64_t Fill::stream(std::string_view tensor) const {
  return absorb(absorb(absorb(mix(seed_ + kGolden), case_name_), shape_name_), tensor);
}

at::Tensor Fill::normal(std::string_view tensor, at::IntArrayRef sizes, double scale) const {
  const std::uint64_t key = stream(tensor);
  const auto by = [&](auto value) {
    return generate<float>(kind_, sizes, at::kFloat, [key, value](std::uint64_t i) { return value(key, i); });
  };
  const auto power = static_cast<float>(nearest_power_of_two(scale));
  const auto ordinary = [power](std::uint64_t k, std::uint64_t i) { return normal_value(k, i, power); };
  switch (kind_) {
    case FillKind::kNone:
    case FillKind::kOrdinary:
      return by(ordinary);
    case FillKind::kZeros:
      return by(zero_value);
    case FillKind::kSubnormal:
      return by(subnormal_value);
    case FillKind::kLarge:
      return by(large_value);
    case FillKind::kHuge:
      return by(huge_value);
    case FillKind::kNaN: {
      const at::Tensor result = by(ordinary);
      put(key, result, {std::numeric_limits<float>::quiet_NaN()});
      return result;
    }
    case FillKind::kInfinite: {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      const at::Tensor result = by(ordinary);
      put(key, result, {kInfinity, -kInfinity});
      return result;
    }
  }
  throw std::invalid_argument("no such kind of fill");
}

at::Tensor Fill::uniform(std::string_view tensor, at::IntArrayRef sizes, double low, double high) const {
  if (!(low < high)) throw std::invalid_argument("a uniform fill needs low < high");
  const double step = (high - low) * 0x1p-16;
  return generate<float>(kind_, sizes, at::kFloat, [key = stream(tensor), low, step](std::uint64_t i) {
    const double offset = step * static_cast<double>(word(key, i) >> 48);
    return static_cast<float>(low + offset);
  });
}

at::Tensor Fill::integers(std::string_view tensor, at::IntArrayRef sizes, std::int64_t low,
                          std::int64_t high) const {
  if (low >= high) throw std::invalid_argument("an integer fill needs low < high");
  // The high half of a 128-bit product maps 64 random bits onto the range; the bias is below range / 2^64.
  __extension__ using Wide = unsigned __int128;
  const auto range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return generate<std::int64_t>(kind_, sizes, at::kLong, [key = stream(tensor), low, range](std::uint64_t i) {
    const auto offset = static_cast<std::uint64_t>(Wide{word(key, i)} * range >> 64);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  });
}

}  // namespace ampgate::cases
