// The comparator's fast pass and the device's form of it against the rule as it is defined, on millions of
// random and awkward elements.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "backends/digest.h"
#include "backends/digest_parts.h"
#include "backends/kernels/compare_words.h"
#include "precision/formats.h"
#include "slow_comparison.h"

namespace ampgate::validate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Trio {
  at::Tensor out;
  at::Tensor y;
  Bound bound;
};

// Elements near everything that decides: ties, ends of intervals, binades, zeros, subnormals, overflow,
// masks.
class Generator {
 public:
  Generator(c10::ScalarType type, std::uint64_t seed) : type_(type), random_(seed) {}

  // `awkward`: the share of elements that are not simply right.
  Trio make(at::IntArrayRef sizes, double awkward, bool with_hard) {
    Trio trio{at::empty(sizes, type_), at::empty(sizes, at::kDouble), {}};
    trio.bound.error = at::empty(sizes, at::kDouble);
    if (with_hard) trio.bound.hard = at::empty(sizes, at::kDouble);
    at::Tensor out = at::empty(sizes, at::kDouble);
    const double base = std::ldexp(1.0, static_cast<int>(below(8)) - 4);
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      double& o = out.mutable_data_ptr<double>()[i];
      double& y = trio.y.mutable_data_ptr<double>()[i];
      double& e = trio.bound.error.mutable_data_ptr<double>()[i];
      if (chance() < awkward) {
        awkward_element(o, y, e);
      } else {
        y = (chance() - 0.5) * base;
        e = base * 0x1p-20;
        o = precision::round_to(y + (chance() - 0.5) * e, precision::format_of(type_));
      }
      if (with_hard) trio.bound.hard.mutable_data_ptr<double>()[i] = chance() < 0.1 ? kNan : 4.0 * e;
    }
    // By value, through float32, in which all of these are exact.
    trio.out = type_ == at::kDouble ? out : out.to(at::kFloat).to(type_);
    return trio;
  }

  double chance() { return std::ldexp(static_cast<double>(random_() >> 11), -53); }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

 private:
  double any_value() {
    const auto bits = random_();
    switch (type_) {
      case at::kHalf:
        return c10::Half(static_cast<std::uint16_t>(bits), c10::Half::from_bits());
      case at::kBFloat16:
        return c10::BFloat16(static_cast<std::uint16_t>(bits), c10::BFloat16::from_bits());
      case at::kFloat:
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      default:  // squares that do not overflow, so that sums can be compared
        return std::ldexp(chance() - 0.5, static_cast<int>(below(900)) - 450);
    }
  }

  void awkward_element(double& o, double& y, double& e) {
    const auto& format = precision::format_of(type_);
    o = any_value();
    if (chance() < 0.2) o = 0.0;
    if (chance() < 0.1) o = -0.0;
    if (chance() < 0.1) o = std::copysign(std::ldexp(1.0, format.min_exponent), o);
    const double largest = type_ == at::kDouble ? 0x1p450 : format.max;
    if (chance() < 0.05) o = std::copysign(largest, o);
    if (std::isnan(o)) o = kNan;
    const double step =
        std::isfinite(o) && o != 0.0
            ? std::ldexp(1.0, std::max(std::ilogb(o), format.min_exponent) - format.significand_bits + 1)
            : format.smallest_subnormal();
    // Quarters of a step, so that ends of intervals and ties are met exactly.
    y = std::isfinite(o) ? o + step / 4 * (static_cast<double>(below(33)) - 16) : o;
    if (chance() < 0.1) y *= 1.0 + 0x1p-50;
    if (chance() < 0.05) y = any_value();
    if (chance() < 0.02) y = std::copysign(kInfinity, chance() - 0.5);
    if (chance() < 0.02) y = kNan;
    if (chance() < 0.02) y = std::copysign(2.0 * largest, chance() - 0.5);
    e = step / 4 * static_cast<double>(below(13));
    if (chance() < 0.1) e = 0.0;
    if (chance() < 0.1) e *= 1.0 - 0x1p-50;
    if (chance() < 0.03) e = kInfinity;
    if (chance() < 0.03) e = kNan;
    if (chance() < 0.05) e = std::abs(y);
  }

  c10::ScalarType type_;
  std::mt19937_64 random_;
};

class CompareKernel : public testing::TestWithParam<c10::ScalarType> {};

TEST_P(CompareKernel, AgreesWithTheRuleOnMillionsOfElements) {
  Generator generator(GetParam(), 1);
  const std::vector<std::vector<std::int64_t>> shapes{{1000}, {125, 8}, {31, 33}, {3, 5, 70}, {7}, {2, 3}};
  for (int round = 0; round < 700 && !HasFailure(); ++round) {
    const double awkward = std::array{1.0, 0.1, 0.003, 0.0}[static_cast<std::size_t>(round % 4)];
    Trio trio =
        generator.make(shapes[static_cast<std::size_t>(round / 4) % shapes.size()], awkward, round % 3 == 0);
    trio.bound.exact_zeros = round % 5 == 0;
    const Comparison fast = compare(trio.out, trio.y, trio.bound, {});
    expect_same(fast, slow_comparison(trio.out, trio.y, trio.bound, {}));
    EXPECT_EQ(fast.digest, backends::digest(trio.out)) << round;
  }
}

TEST_P(CompareKernel, AgreesOnLongRowsWellConditionedOrNot) {
  Generator generator(GetParam(), 2);
  for (const auto& shape :
       std::vector<std::vector<std::int64_t>>{{70000}, {3, 20001}, {9000, 7}, {40, 1025}}) {
    for (const double awkward : {0.0, 1e-4, 0.05}) {
      Trio trio = generator.make(shape, awkward, false);
      expect_same(compare(trio.out, trio.y, trio.bound, {}),
                  slow_comparison(trio.out, trio.y, trio.bound, {}));
      trio.bound.error.view(-1)[trio.y.numel() - 5] = kInfinity;
      const Comparison ill = compare(trio.out, trio.y, trio.bound, {});
      expect_same(ill, slow_comparison(trio.out, trio.y, trio.bound, {}));
      EXPECT_GE(ill.ill_conditioned, 1);
    }
  }
}

TEST_P(CompareKernel, NumberOfThreadsChangesNoBit) {
  Generator generator(GetParam(), 3);
  const int threads = at::get_num_threads();
  const auto same = [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  };
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{200000}, {3000, 65}}) {
    const Trio trio = generator.make(shape, 1e-3, false);
    at::set_num_threads(1);
    const Comparison one = compare(trio.out, trio.y, trio.bound, {});
    const Cost cost_one = precision_cost(trio.out, trio.y);
    for (const int others : {2, 3, 7}) {
      at::set_num_threads(others);
      const Comparison more = compare(trio.out, trio.y, trio.bound, {});
      const Cost cost_more = precision_cost(trio.out, trio.y);
      at::set_num_threads(threads);
      EXPECT_TRUE(same(one.mean_signed_error, more.mean_signed_error));
      EXPECT_TRUE(same(one.rms_error, more.rms_error));
      EXPECT_TRUE(same(one.rms_reference, more.rms_reference));
      EXPECT_EQ(one.digest, more.digest);
      expect_same(more, one);
      EXPECT_TRUE(same(cost_one.mean_signed_error, cost_more.mean_signed_error));
      EXPECT_TRUE(same(cost_one.relative_rms_error, cost_more.relative_rms_error));
      EXPECT_EQ(cost_one.position, cost_more.position);
    }
  }
  at::set_num_threads(threads);
}

TEST_P(CompareKernel, LayoutChangesNothing) {
  Generator generator(GetParam(), 4);
  const Trio trio = generator.make({13, 6, 37}, 0.01, true);
  const auto transposed = [](const at::Tensor& t) {
    return t.permute({2, 0, 1}).contiguous().permute({1, 2, 0});
  };
  const Comparison plain = compare(trio.out, trio.y, trio.bound, {});
  Bound strided = trio.bound;
  strided.error = transposed(strided.error);
  strided.hard = transposed(strided.hard);
  const Comparison moved = compare(transposed(trio.out), transposed(trio.y), strided, {});
  expect_same(moved, plain);
  EXPECT_EQ(moved.digest, plain.digest);
}

// What each thread of a device does, on the CPU: the same counts, worst element and digest.
TEST_P(CompareKernel, DeviceFormAgrees) {
  using backends::compare::Sums;
  using backends::widen::Type;
  const Type type = GetParam() == at::kHalf       ? Type::kFloat16
                    : GetParam() == at::kBFloat16 ? Type::kBFloat16
                    : GetParam() == at::kFloat    ? Type::kFloat32
                                                  : Type::kFloat64;
  const auto& format = precision::format_of(GetParam());
  const double overflow = GetParam() == at::kDouble
                              ? kInfinity
                              : format.max * (1 + format.unit_roundoff() / (2 - 2 * format.unit_roundoff()));
  Generator generator(GetParam(), 5);
  for (const double awkward : {1.0, 0.01}) {
    const Trio trio = generator.make({61, 33}, awkward, true);
    const double* y = trio.y.const_data_ptr<double>();
    std::vector<double> limits;
    for (std::int64_t row = 0; row < 61; ++row) {
      backends::judge::Squares squares;
      for (std::int64_t thread = 0; thread < 4; ++thread) {
        squares.merge(backends::compare::squares_of(y, row * 33 + thread, (row + 1) * 33, 4));
      }
      limits.push_back(squares.limit(results::Rules{}.bounds.ill_conditioned));
    }
    const backends::compare::Operands operands{
        trio.out.const_data_ptr(),
        type,
        y,
        trio.bound.error.const_data_ptr<double>(),
        trio.bound.hard.const_data_ptr<double>(),
        limits.data(),
        61 * 33,
        33,
        {{format.significand_bits, format.min_exponent, overflow}, false}};
    const auto words = static_cast<std::int64_t>(backends::hash::word_count(trio.out.nbytes()));
    Sums sums;
    for (std::int64_t thread = 6; thread >= 0; --thread) {
      sums.merge(backends::compare::compare_words(operands, thread, words, 7));
    }
    const Comparison cpu = compare(trio.out, trio.y, trio.bound, {});
    EXPECT_EQ(sums.counts.judged, cpu.judged);
    EXPECT_EQ(sums.counts.rejected, cpu.rejected);
    EXPECT_EQ(sums.counts.between, cpu.between);
    EXPECT_EQ(sums.counts.nan_mismatch + sums.counts.inf_mismatch, cpu.nan_mismatch + cpu.inf_mismatch);
    EXPECT_EQ(sums.counts.ill_conditioned, cpu.ill_conditioned);
    EXPECT_EQ(sums.counts.max_ulp, cpu.max_ulp);
    EXPECT_EQ(sums.counts.worst.margin, cpu.margin);
    EXPECT_EQ(sums.counts.worst.index, cpu.position[0] * 33 + cpu.position[1]);
    EXPECT_EQ(sums.errors.largest, cpu.max_abs_error);
    EXPECT_EQ(backends::digest_of(sums.lanes, trio.out), cpu.digest);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CompareKernel,
                         testing::Values(at::kHalf, at::kBFloat16, at::kFloat, at::kDouble),
                         [](const auto& each) { return std::string(c10::toString(each.param)); });

TEST(PrecisionCost, AgreesWithDoublePrecisionArithmetic) {
  for (const auto type : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const at::Tensor baseline = at::randn({70, 501});
    const at::Tensor actual = (baseline * 1.01).to(type);
    const at::Tensor error = actual.to(at::kDouble) - baseline.to(at::kDouble);
    const Cost cost = precision_cost(actual, baseline);
    EXPECT_NEAR(cost.mean_signed_error, error.mean().item<double>(), 1e-15);
    EXPECT_EQ(cost.max_abs_error, error.abs().max().item<double>());
    EXPECT_EQ(cost.position[0] * 501 + cost.position[1], error.abs().argmax().item<std::int64_t>());
    const double relative =
        (error.square().sum() / baseline.to(at::kDouble).square().sum()).sqrt().item<double>();
    EXPECT_NEAR(cost.relative_rms_error, relative, 1e-12);
  }
}

}  // namespace
}  // namespace ampgate::validate
