// Conversions are checked against an independent rounding: nearest neighbour in the list of all values of the
// format.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "precision/formats.h"

namespace ampgate::precision {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Decodes 16 bits by the definition of the format.
double decode(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction == 0 ? sign * kInfinity : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct Case16 {
  c10::ScalarType type;
  int exponent_bits;
  int fraction_bits;
};
const Case16 kHalfBits{at::kHalf, 5, 10};
const Case16 kBFloat16Bits{at::kBFloat16, 8, 7};

class Formats16 : public testing::TestWithParam<Case16> {
 protected:
  const Format& format() const { return format_of(GetParam().type); }
  double value(std::uint16_t bits) const {
    return decode(bits, GetParam().exponent_bits, GetParam().fraction_bits);
  }
  // The first magnitude that is not finite, as bits; its neighbour below is the largest finite value.
  std::uint16_t infinity_bits() const {
    return static_cast<std::uint16_t>(((1 << GetParam().exponent_bits) - 1) << GetParam().fraction_bits);
  }
  // A magnitude as a number, infinity as the power of two that it stands for when values are rounded to it.
  double magnitude(std::uint16_t bits) const {
    return bits == infinity_bits() ? std::ldexp(1.0, 1 << (GetParam().exponent_bits - 1)) : value(bits);
  }
};

TEST_P(Formats16, ConstantsAreThoseOfTheBits) {
  EXPECT_EQ(format().max, value(static_cast<std::uint16_t>(infinity_bits() - 1)));
  EXPECT_EQ(format().smallest_subnormal(), value(1));
  EXPECT_EQ(format().unit_roundoff(), std::ldexp(1.0, -GetParam().fraction_bits - 1));
  EXPECT_EQ(std::ldexp(1.0, format().min_exponent),
            value(static_cast<std::uint16_t>(1 << GetParam().fraction_bits)));
}

TEST_P(Formats16, EveryValueRoundsToItself) {
  std::vector<double> values;
  for (int bits = 0; bits < 65536; ++bits) values.push_back(value(static_cast<std::uint16_t>(bits)));
  const at::Tensor rounded = round_tensor(at::tensor(values, at::kDouble), GetParam().type).view(at::kShort);
  for (int bits = 0; bits < 65536; ++bits) {
    const double v = values[static_cast<std::size_t>(bits)];
    if (std::isnan(v)) {
      ASSERT_TRUE(std::isnan(round_to(v, format())));
      continue;
    }
    const double r = round_to(v, format());
    ASSERT_EQ(std::bit_cast<std::uint64_t>(r), std::bit_cast<std::uint64_t>(v)) << bits;
    ASSERT_EQ(static_cast<std::uint16_t>(rounded.const_data_ptr<std::int16_t>()[bits]), bits);
  }
}

TEST_P(Formats16, NanStaysNan) {
  const at::Tensor nan = at::full({3}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  EXPECT_TRUE(at::isnan(round_tensor(nan, GetParam().type)).all().item<bool>());
}

// At each midpoint between neighbours, and the float64 below and above it: zero, subnormals and overflow
// included.
TEST_P(Formats16, MidpointsGoToEvenAndAllElseToTheNearest) {
  std::vector<double> inputs;
  std::vector<double> expected;
  const auto add = [&](double input, std::uint16_t bits) {
    inputs.insert(inputs.end(), {input, -input});
    expected.insert(expected.end(), {value(bits), -value(bits)});
  };
  for (std::uint16_t low = 0; low < infinity_bits(); ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double middle = (magnitude(low) + magnitude(high)) / 2.0;
    add(middle, low % 2 == 0 ? low : high);
    add(std::nextafter(middle, 0.0), low);
    add(std::nextafter(middle, kInfinity), high);
  }
  add(std::numeric_limits<double>::max(), infinity_bits());
  add(std::numeric_limits<double>::denorm_min(), 0);
  add(kInfinity, infinity_bits());
  const at::Tensor rounded =
      round_tensor(at::tensor(inputs, at::kDouble), GetParam().type).to(at::kFloat).to(at::kDouble);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(round_to(inputs[i], format()), expected[i]) << inputs[i];
    ASSERT_EQ(rounded.const_data_ptr<double>()[i], expected[i]) << inputs[i];
    ASSERT_EQ(std::signbit(rounded.const_data_ptr<double>()[i]), std::signbit(inputs[i])) << inputs[i];
  }
}

TEST_P(Formats16, IntervalOfEveryValueIsWhatRoundsToIt) {
  for (std::uint16_t bits = 0; bits <= infinity_bits(); ++bits) {
    for (const double sign : {1.0, -1.0}) {
      const double v = sign * value(bits);
      const RoundingInterval interval = rounding_interval(v, format());
      ASSERT_EQ(interval.closed, bits % 2 == 0);
      for (const double end : {interval.low, interval.high}) {
        if (std::isinf(end)) continue;
        ASSERT_EQ(round_to(end, format()) == v, interval.closed) << v << " end " << end;
        const double inside = std::nextafter(end, end == interval.low ? interval.high : interval.low);
        const double outside = std::nextafter(end, end == interval.low ? -kInfinity : kInfinity);
        ASSERT_EQ(round_to(inside, format()), v);
        ASSERT_NE(round_to(outside, format()), v);
      }
    }
  }
}

TEST_P(Formats16, UlpDistanceCountsValues) {
  for (std::uint16_t bits = 0; bits + 7 < infinity_bits(); ++bits) {
    const auto later = static_cast<std::uint16_t>(bits + 7);
    ASSERT_EQ(ulp_distance(value(bits), value(later), format()), 7);
    ASSERT_EQ(ulp_distance(-value(bits), value(later), format()), 7 + 2 * bits);
  }
  EXPECT_EQ(ulp_distance(-0.0, 0.0, format()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Formats16, testing::Values(kHalfBits, kBFloat16Bits), [](const auto& test) {
  return test.param.type == at::kHalf ? "float16" : "bfloat16";
});

// 1 + 2^-11 + 2^-40 lies above a midpoint of FP16. By way of FP32 it becomes the midpoint itself, which goes
// to even.
TEST(Formats, Float64RoundsOnceNotByWayOfFloat32) {
  const double value = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  EXPECT_EQ(round_to(value, format_of(at::kHalf)), 1.0 + std::ldexp(1.0, -10));
  const at::Tensor tensor = at::full({1}, value, at::kDouble);
  EXPECT_EQ(round_tensor(tensor, at::kHalf).item<float>(), 1.0f + 0x1p-10f);
  EXPECT_EQ(tensor.to(at::kHalf).item<float>(), 1.0f)
      << "LibTorch rounds once now: the own conversion can go";
}

// Hardware converts float64 to float32 with one rounding to nearest even.
TEST(Formats, Float32AgreesWithHardware) {
  std::vector<double> values{0.0,      -0.0,       0x1p-150,       0x1.8p-150,
                             0x1p-149, 0x1.8p-149, 0x1.fffffep127, 0x1.ffffffp127};
  std::uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    // Exponents from below the subnormals of FP32 to beyond its largest value.
    const std::uint64_t exponent = 1023 - 155 + (state >> 33) % 290;
    const std::uint64_t fraction = (state * 2862933555777941757ULL) >> 12;
    values.push_back(std::bit_cast<double>((state & (1ULL << 63)) | exponent << 52 | fraction));
    // Ties in the last bit of FP32.
    values.push_back(std::bit_cast<double>(exponent << 52 | (fraction & ~((1ULL << 28) - 1)) | 1ULL << 28));
  }
  const at::Tensor rounded = round_tensor(at::tensor(values, at::kDouble), at::kFloat);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto hardware = static_cast<float>(values[i]);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded.const_data_ptr<float>()[i]),
              std::bit_cast<std::uint32_t>(hardware));
    ASSERT_EQ(round_to(values[i], format_of(at::kFloat)), static_cast<double>(hardware));
    const RoundingInterval interval = rounding_interval(hardware, format_of(at::kFloat));
    ASSERT_TRUE(interval.reaches_from_below(values[i]) && interval.reaches_from_above(values[i]))
        << values[i];
  }
}

TEST(Formats, RefusesOtherTypes) {
  EXPECT_THROW(format_of(at::kLong), std::invalid_argument);
  EXPECT_ANY_THROW(round_tensor(at::ones({1}, at::kFloat), at::kHalf));
  EXPECT_THROW(round_tensor(at::ones({1}, at::kDouble), at::kInt), std::exception);
}

TEST(Formats, RoundedTensorKeepsSizes) {
  const at::Tensor strided = at::arange(12, at::kDouble).view({3, 4}).t();
  const at::Tensor rounded = round_tensor(strided, at::kHalf);
  EXPECT_TRUE(rounded.is_contiguous());
  EXPECT_TRUE(at::equal(rounded.to(at::kDouble), strided));
}

}  // namespace
}  // namespace ampgate::precision
