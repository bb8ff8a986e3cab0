#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "precision/formats.h"
#include "validate/compare.h"

namespace ampgate::validate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

at::Tensor fp64(std::vector<double> values) { return at::tensor(values, at::kDouble); }

at::Tensor half(std::vector<double> values) { return fp64(std::move(values)).to(at::kHalf); }

Bound bound_of(const at::Tensor& error, const at::Tensor& hard = {}) {
  Bound bound;
  bound.error = error;
  bound.hard = hard;
  return bound;
}

// One element among seven of value 1, so that the row has a scale.
Comparison compare_one(double out, double y, double error, c10::ScalarType type = at::kHalf) {
  at::Tensor oracle = at::ones({8}, at::kDouble);
  oracle[3] = y;
  at::Tensor actual = at::ones({8}, type);
  actual[3] = out;
  at::Tensor bound = at::zeros({8}, at::kDouble);
  bound[3] = error;
  return compare(actual, oracle, bound_of(bound), {});
}

// In FP16 the values around 1 are 2^-10 apart above and 2^-11 below.
constexpr double kUlp = 0x1p-10;

TEST(Compare, RoundedOracleHasMarginZeroWhateverTheBound) {
  const at::Tensor oracle = at::randn({5, 40}, at::kDouble);
  for (const auto type : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const Comparison c =
        compare(precision::round_tensor(oracle, type), oracle, bound_of(at::zeros_like(oracle)), {});
    EXPECT_TRUE(c.accepted());
    EXPECT_EQ(c.margin, 0.0);
    EXPECT_EQ(c.max_ulp, 0);
    EXPECT_EQ(c.judged, 200);
    EXPECT_GT(c.max_abs_error, 0.0);
  }
}

TEST(Compare, MarginIsTheErrorBeyondRoundingOverTheBound) {
  // out = 1 + 2 ulp is reached from y = 1 once y + error passes 1 + 1.5 ulp.
  const Comparison inside = compare_one(1 + 2 * kUlp, 1.0, 2 * kUlp);
  EXPECT_TRUE(inside.accepted());
  EXPECT_DOUBLE_EQ(inside.margin, 0.75);
  EXPECT_EQ(inside.position, std::vector<std::int64_t>{3});
  EXPECT_EQ(inside.expected, 1.0);
  EXPECT_EQ(inside.actual, 1 + 2 * kUlp);
  EXPECT_EQ(inside.bound, 2 * kUlp);
  EXPECT_EQ(inside.max_ulp, 2);
  EXPECT_DOUBLE_EQ(inside.max_abs_error, 2 * kUlp);
  EXPECT_DOUBLE_EQ(inside.mean_signed_error, 2 * kUlp / 8);

  const Comparison outside = compare_one(1 + 2 * kUlp, 1.0, kUlp);
  EXPECT_EQ(outside.rejected, 1);
  EXPECT_FALSE(outside.accepted());
  EXPECT_DOUBLE_EQ(outside.margin, 1.5);
}

TEST(Compare, TiesGoToEven) {
  // 1 + 1.5 ulp is the midpoint of 1 + ulp (odd) and 1 + 2 ulp (even).
  EXPECT_TRUE(compare_one(1 + 2 * kUlp, 1.0, 1.5 * kUlp).accepted());
  EXPECT_TRUE(compare_one(1 + 2 * kUlp, 1 + 1.5 * kUlp, 0.0).accepted());
  EXPECT_FALSE(compare_one(1 + kUlp, 1 + 1.5 * kUlp, 0.0).accepted());
  EXPECT_FALSE(compare_one(1 + kUlp, 1 + 2 * kUlp, 0.5 * kUlp).accepted());
  EXPECT_TRUE(compare_one(1 + kUlp, 1 + 2 * kUlp, 0.5001 * kUlp).accepted());
}

// The rule itself, with both ends rounded, decides the same on a dense grid of errors and distances.
TEST(Compare, AgreesWithRoundingBothEnds) {
  for (const auto type : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const auto& format = precision::format_of(type);
    const double ulp = 2 * format.unit_roundoff();
    for (int steps = -3; steps <= 3; ++steps) {
      for (int eighths = -12; eighths <= 12; ++eighths) {
        for (int error = 0; error <= 16; ++error) {
          const double out = precision::round_to(1 + steps * ulp, format);
          const double y = 1 + eighths * ulp / 8;
          const double e = error * ulp / 8;
          const bool expected =
              precision::round_to(y - e, format) <= out && out <= precision::round_to(y + e, format);
          ASSERT_EQ(compare_one(out, y, e, type).accepted(), expected) << out << ' ' << y << ' ' << e;
        }
      }
    }
  }
}

TEST(Compare, OverflowBelongsToRounding) {
  EXPECT_TRUE(compare_one(kInfinity, 65520.0, 0.0).accepted());
  EXPECT_TRUE(compare_one(kInfinity, 1e9, 0.0).accepted());
  EXPECT_TRUE(compare_one(65504.0, 65519.9, 0.0).accepted());
  EXPECT_TRUE(compare_one(65504.0, 65521.0, 2.0).accepted());
  EXPECT_TRUE(compare_one(kInfinity, 65519.0, 2.0).accepted());
  for (const auto& [out, y] :
       {std::pair{kInfinity, 65519.0}, {65504.0, 65521.0}, {-kInfinity, 1e9}, {1.0, kInfinity}}) {
    const Comparison c = compare_one(out, y, 0.5);
    EXPECT_EQ(c.inf_mismatch, 1) << out << ' ' << y;
    EXPECT_EQ(c.rejected, 1);
    EXPECT_GT(c.margin, 1.0);
  }
}

TEST(Compare, InfiniteAndNanOraclesAreMasks) {
  EXPECT_TRUE(compare_one(kNan, kNan, kNan).accepted());
  EXPECT_TRUE(compare_one(kInfinity, kInfinity, kNan).accepted());
  EXPECT_EQ(compare_one(-kInfinity, kInfinity, kInfinity).inf_mismatch, 1);
  for (const auto& [out, y] : {std::pair{kNan, 1.0}, {1.0, kNan}, {kNan, kInfinity}, {kInfinity, kNan}}) {
    const Comparison c = compare_one(out, y, kInfinity);
    EXPECT_EQ(c.nan_mismatch, 1) << out << ' ' << y;
    EXPECT_EQ(c.rejected, 1);
    EXPECT_EQ(c.margin, kInfinity);
    EXPECT_EQ(c.position, std::vector<std::int64_t>{3});
  }
}

TEST(Compare, SubnormalsAreValuesLikeOthers) {
  const double step = 0x1p-24;
  EXPECT_TRUE(compare_one(step, 0.6 * step, 0.0).accepted());
  EXPECT_FALSE(compare_one(0.0, 0.6 * step, 0.0).accepted());
  EXPECT_TRUE(compare_one(0.0, 0.6 * step, 0.1001 * step).accepted());
  EXPECT_FALSE(compare_one(-step, 0.6 * step, 0.2 * step).accepted());
}

TEST(Compare, SignOfZeroCountsOnlyForMoves) {
  EXPECT_TRUE(compare_one(-0.0, 0.0, 0.0).accepted());
  at::Tensor oracle = at::zeros({8}, at::kDouble);
  Bound exact = bound_of(at::zeros({8}, at::kDouble));
  exact.exact_zeros = true;
  EXPECT_TRUE(compare(at::zeros({8}), oracle, exact, {}).accepted());
  EXPECT_EQ(compare(-at::zeros({8}), oracle, exact, {}).rejected, 8);
}

TEST(Compare, BetweenBoundAndHardBoundIsSuspect) {
  const at::Tensor oracle = at::ones({8}, at::kDouble);
  const at::Tensor error = at::full({8}, 0.1 * kUlp, at::kDouble);
  const at::Tensor hard = at::full({8}, 2 * kUlp, at::kDouble);
  at::Tensor out = at::ones({8}, at::kHalf);
  out[5] = 1 + 2 * kUlp;
  const Comparison suspect = compare(out, oracle, bound_of(error, hard), {});
  EXPECT_EQ(suspect.between, 1);
  EXPECT_EQ(suspect.rejected, 0);
  EXPECT_TRUE(suspect.suspect());
  EXPECT_FALSE(suspect.accepted());
  EXPECT_NEAR(suspect.margin, 15.0, 1e-9);
  out[6] = 1 + 3 * kUlp;
  const Comparison rejected = compare(out, oracle, bound_of(error, hard), {});
  EXPECT_EQ(rejected.between, 1);
  EXPECT_EQ(rejected.rejected, 1);
  EXPECT_FALSE(rejected.suspect());
  EXPECT_EQ(rejected.position, std::vector<std::int64_t>{6});
}

TEST(Compare, IllConditionedRowsNeitherPassNorFail) {
  at::Tensor oracle = at::ones({2, 8}, at::kDouble);
  at::Tensor error = at::full({2, 8}, 1e-6, at::kDouble);
  error[1].fill_(0.6);  // above half of the row's RMS of 1
  at::Tensor out = oracle.to(at::kFloat);
  out[1][2] = 50.0;
  const Comparison c = compare(out, oracle, bound_of(error), {});
  EXPECT_EQ(c.ill_conditioned, 8);
  EXPECT_EQ(c.judged, 8);
  EXPECT_TRUE(c.accepted());

  const Comparison none = compare(out, oracle, bound_of(at::full_like(error, 0.6)), {});
  EXPECT_EQ(none.judged, 0);
  EXPECT_TRUE(none.undecided());
  EXPECT_FALSE(none.accepted());

  for (const double wrong : {kNan, kInfinity}) {
    out[1][2] = wrong;
    const Comparison masked = compare(out, oracle, bound_of(error), {});
    EXPECT_EQ(masked.rejected, 1) << wrong;
    EXPECT_EQ(masked.nan_mismatch + masked.inf_mismatch, 1);
  }
  out[1][2] = 1.0;
  error[1][2] = kNan;
  EXPECT_EQ(compare(out, oracle, bound_of(error), {}).ill_conditioned, 8);
}

TEST(Compare, ScaleIsThatOfTheOwnRow) {
  at::Tensor oracle = at::ones({2, 8}, at::kDouble);
  oracle[1].mul_(1e6);
  EXPECT_EQ(compare(oracle.to(at::kFloat), oracle, bound_of(at::full({2, 8}, 0.6, at::kDouble)), {})
                .ill_conditioned,
            8);
  // Long rows, whose scale is computed beforehand.
  at::Tensor wide = at::ones({3, 5000}, at::kDouble);
  wide[1].mul_(1e6);
  const Comparison c = compare(wide.to(at::kFloat), wide, bound_of(at::full_like(wide, 0.6)), {});
  EXPECT_EQ(c.ill_conditioned, 10000);
  EXPECT_EQ(c.judged, 5000);
}

TEST(Compare, ZerosWithATinyBoundAreJudged) {
  const at::Tensor zeros = at::zeros({8}, at::kDouble);
  const Comparison c =
      compare(zeros.to(at::kFloat), zeros, bound_of(at::full({8}, 0x1p-126, at::kDouble)), {});
  EXPECT_TRUE(c.accepted());
  EXPECT_EQ(c.ill_conditioned, 0);
}

TEST(Compare, StridesDoNotMatter) {
  const at::Tensor oracle = at::randn({3, 7, 400}, at::kDouble);
  for (const auto type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    at::Tensor out = precision::round_tensor(oracle, type);
    out[2][4][321] = 77.0;
    const Bound zero = bound_of(at::zeros_like(oracle));
    for (const at::Tensor& strided : {out.permute({2, 0, 1}).contiguous().permute({1, 2, 0}),
                                      at::stack({out, out}, -1).select(-1, 1), out}) {
      const Comparison c = compare(strided, oracle, zero, {});
      EXPECT_EQ(c.rejected, 1);
      EXPECT_EQ(c.position, (std::vector<std::int64_t>{2, 4, 321}));
      EXPECT_EQ(c.actual, 77.0);
    }
  }
}

TEST(Compare, EveryPositionOfALargeTensorIsSeen) {
  const at::Tensor oracle = at::ones({300000}, at::kDouble);
  const Bound zero = bound_of(at::zeros_like(oracle));
  for (const std::int64_t wrong : {0, 1023, 1024, 65535, 65536, 299999}) {
    at::Tensor out = oracle.to(at::kFloat);
    out[wrong] = 2.0f;
    const Comparison c = compare(out, oracle, zero, {});
    EXPECT_EQ(c.rejected, 1);
    EXPECT_EQ(c.position, std::vector<std::int64_t>{wrong});
    EXPECT_EQ(c.elements, 300000);
    EXPECT_DOUBLE_EQ(c.rms_error, std::sqrt(1.0 / 300000));
    EXPECT_DOUBLE_EQ(c.rms_reference, 1.0);
  }
}

TEST(Compare, ScalarsAreCompared) {
  const at::Tensor oracle = at::scalar_tensor(2.0, at::kDouble);
  EXPECT_TRUE(compare(oracle.to(at::kHalf), oracle, bound_of(at::zeros_like(oracle)), {}).accepted());
  const Comparison wrong =
      compare(at::scalar_tensor(2.5, at::kHalf), oracle, bound_of(at::zeros_like(oracle)), {});
  EXPECT_EQ(wrong.rejected, 1);
  EXPECT_TRUE(wrong.position.empty());
}

TEST(Compare, NothingIsBroadcastOrConverted) {
  const at::Tensor oracle = at::ones({4, 8}, at::kDouble);
  const Bound zero = bound_of(at::zeros_like(oracle));
  for (const at::Tensor& out : {at::ones({1, 8}), at::ones({8}), at::ones({4, 8, 1}),
                                at::ones({4, 8}, at::kLong), at::ones({4, 8}, at::kBool), at::Tensor()}) {
    const Comparison c = compare(out, oracle, zero, {});
    EXPECT_FALSE(c.problem.empty());
    EXPECT_FALSE(c.accepted() || c.suspect() || c.undecided());
    EXPECT_FALSE(precision_cost(out, oracle).problem.empty());
    EXPECT_FALSE(error_ratio(out, oracle).accepted({}));
  }
}

TEST(Compare, EmptyOutputIsNoPass) {
  const at::Tensor empty = at::empty({0, 8}, at::kDouble);
  EXPECT_TRUE(compare(empty.to(at::kFloat), empty, bound_of(empty), {}).undecided());
}

TEST(Limits, AreTheEndsOfTheRule) {
  const at::Tensor oracle = fp64({1.0, 65519.0, kInfinity, kNan, 3.0});
  const Bound bound = bound_of(fp64({kUlp, 2.0, kNan, 1.0, 0.0}), fp64({4 * kUlp, 2.0, kNan, 1.0, 0.0}));
  const std::vector<std::int64_t> positions{0, 1, 2, 3};
  const Limits limit = limits(oracle, bound, at::kHalf, positions, false);
  EXPECT_EQ(limit.low[0], 1 - kUlp);
  EXPECT_EQ(limit.high[0], 1 + kUlp);
  EXPECT_EQ(limit.low[1], 65504.0);
  EXPECT_EQ(limit.high[1], kInfinity);
  EXPECT_EQ(limit.low[2], kInfinity);
  EXPECT_TRUE(std::isnan(limit.low[3]) && std::isnan(limit.high[3]));
  EXPECT_EQ(limits(oracle, bound, at::kHalf, positions, true).high[0], 1 + 4 * kUlp);
  EXPECT_ANY_THROW(limits(oracle, bound, at::kHalf, std::vector<std::int64_t>{5}, false));
}

TEST(PrecisionCost, ErrorsAndMasksByPosition) {
  const at::Tensor baseline = at::tensor(std::vector<float>{3.0f, -4.0f, INFINITY, NAN, 1.0f, 2.0f});
  const at::Tensor actual = half({3.0, -4.5, -kInfinity, kNan, kNan, kInfinity});
  const Cost cost = precision_cost(actual, baseline);
  EXPECT_EQ(cost.elements, 6);
  EXPECT_EQ(cost.nan_mismatch, 1);
  EXPECT_EQ(cost.inf_mismatch, 2);
  EXPECT_DOUBLE_EQ(cost.max_abs_error, 0.5);
  EXPECT_EQ(cost.position, std::vector<std::int64_t>{1});
  EXPECT_EQ(cost.expected, -4.0);
  EXPECT_EQ(cost.actual, -4.5);
  EXPECT_DOUBLE_EQ(cost.relative_rms_error, 0.5 / 5.0);
  EXPECT_DOUBLE_EQ(cost.mean_signed_error, -0.25);
}

TEST(PrecisionCost, OfZeros) {
  EXPECT_EQ(precision_cost(at::zeros({4}), at::zeros({4})).relative_rms_error, 0.0);
  EXPECT_EQ(precision_cost(at::ones({4}), at::zeros({4})).relative_rms_error, kInfinity);
}

TEST(ErrorRatio, OneForTheRoundedOracleAndMoreForTruncation) {
  const at::Tensor oracle = at::randn({50, 40}, at::kDouble);
  const at::Tensor rounded = precision::round_tensor(oracle, at::kHalf);
  const ErrorRatio best = error_ratio(rounded, oracle);
  EXPECT_NEAR(best.ratio, 1.0, 1e-3);
  EXPECT_TRUE(best.accepted({}));
  EXPECT_FALSE(error_ratio(rounded * 1.002, oracle).accepted({}));
  at::Tensor overflowed = rounded.clone();
  overflowed[3][4] = kInfinity;
  EXPECT_FALSE(error_ratio(overflowed, oracle).accepted({}));
  EXPECT_FALSE(error_ratio(overflowed, oracle).masks_equal);
}

}  // namespace
}  // namespace ampgate::validate
