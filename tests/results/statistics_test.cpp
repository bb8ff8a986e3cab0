#include "results/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "results/series.h"
#include "results/signed_rank.h"
#include "results/student_t.h"
#include "results/trend.h"
#include "synthetic.h"

namespace ampgate::results {
namespace {

TEST(Statistics, MediansAndDeviationsByHand) {
  const Estimate odd = median_time(samples_of({{5, 1, 9}, {2, 4}}), 0.95);
  EXPECT_EQ(odd.value, 4);
  EXPECT_EQ(odd.mad, 2);  // |1 -3 5 -2 0|
  EXPECT_EQ(odd.samples, 5);
  EXPECT_EQ(odd.processes, 2);
  EXPECT_EQ(median_time(samples_of({{4, 1, 3, 10}}), 0.95).value, 3.5);
  EXPECT_EQ(median_time(samples_of({{7}}), 0.95).value, 7);
}

TEST(Statistics, RatioIsPairedByProcessAndBlock) {
  // Block by block twice as fast, though the medians of unpaired times (30 and 10) would say three times.
  std::vector<Sample> slow = samples_of({{20, 30, 80}});
  std::vector<Sample> fast = samples_of({{10, 15, 40}});
  fast[1].block = 7;  // has no partner
  std::swap(slow[0], slow[2]);
  const Estimate ratio = paired_ratio(slow, fast, 0.95);
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_EQ(ratio.samples, 2);
  EXPECT_NEAR(ratio.mad, 0, 1e-15);
  fast[0].process = fast[2].process = 5;
  EXPECT_THROW(paired_ratio(slow, fast, 0.95), std::invalid_argument);
}

TEST(Statistics, RatioAndReverseAreReciprocals) {
  Synthetic synthetic(3);
  for (int i = 0; i < 10; ++i) {
    const auto a = synthetic.run({.processes = 3, .blocks = 8, .between = 3});
    const auto b = synthetic.run({.processes = 3, .blocks = 8, .between = 3});
    for (const auto ratio : {paired_ratio, unpaired_ratio}) {
      const Estimate forward = ratio(a, b, 0.95);
      const Estimate backward = ratio(b, a, 0.95);
      ASSERT_TRUE(forward.interval && backward.interval);
      EXPECT_NEAR(forward.value * backward.value, 1, 1e-14);
      EXPECT_NEAR(forward.interval->low * backward.interval->high, 1, 1e-13);
      EXPECT_NEAR(forward.interval->high * backward.interval->low, 1, 1e-13);
      EXPECT_EQ(forward.mad, backward.mad);
    }
  }
}

TEST(Statistics, TheOrderOfTheSamplesChangesNothing) {
  const auto samples = Synthetic(4).run({.processes = 3, .blocks = 8});
  const Estimate a = median_time(samples, 0.95);
  const Estimate b = median_time(std::vector<Sample>(samples.rbegin(), samples.rend()), 0.95);
  EXPECT_EQ(a.interval->low, b.interval->low);
  EXPECT_EQ(a.interval->high, b.interval->high);
}

TEST(Statistics, IntervalIsStudentsOverTheMediansOfProcesses) {
  // Medians of processes: 1, e, e^2; on log scale 1 +- 4.3027 / sqrt(3).
  const double e = std::exp(1.0);
  const Estimate estimate = median_time(samples_of({{1, 0.5, 9}, {e, 1, 7}, {e * e, 2, 99}}), 0.95);
  ASSERT_TRUE(estimate.interval);
  EXPECT_NEAR(std::log(estimate.interval->low), 1 - 2.4841, 1e-4);
  EXPECT_NEAR(std::log(estimate.interval->high), 1 + 2.4841, 1e-4);
}

TEST(Statistics, IntervalHoldsTheMedianItself) {
  // Eleven processes at 100 and nine at 200: the mean of the logarithms lies beyond the median.
  std::vector<std::vector<double>> times(11, {100, 100.1, 99.9});
  times.insert(times.end(), 9, {200, 200.1, 199.9});
  const Estimate estimate = median_time(samples_of(times), 0.95);
  ASSERT_TRUE(estimate.interval);
  EXPECT_LE(estimate.interval->low, estimate.value);
}

TEST(Statistics, NoIntervalFromFewerThanSix) {
  const Estimate few = median_time(samples_of({{10, 12}, {11, 10}, {12}}), 0.95);
  EXPECT_FALSE(few.interval);
  EXPECT_NE(few.method.find("no interval: 5 blocks"), std::string::npos) << few.method;
  EXPECT_EQ(relative_half_width(few), INFINITY);
  EXPECT_TRUE(median_time(samples_of({{10, 12}, {11, 10}, {12, 11}}), 0.95).interval);
  EXPECT_FALSE(
      unpaired_ratio(samples_of({{1, 2}, {2, 1}}), samples_of({{1, 2, 3}, {2, 1, 3}}), 0.95).interval);
}

TEST(Statistics, NoIntervalBeyondWhatNumbersHold) {
  const Estimate apart = median_time(samples_of({{1, 1, 1}, {1e9, 1e9, 1e9}}), 0.99999);
  EXPECT_FALSE(apart.interval);
  EXPECT_NE(apart.method.find("too few"), std::string::npos) << apart.method;
}

TEST(Statistics, OneProcessSaysWhatItCannotSee) {
  const auto one = Synthetic(2).run({.processes = 1, .blocks = 20});
  const Estimate estimate = median_time(one, 0.95);
  ASSERT_TRUE(estimate.interval) << estimate.method;
  EXPECT_NE(estimate.method.find("the one process"), std::string::npos);
  const auto many = Synthetic(3).run({.processes = 5, .blocks = 20});
  const Estimate ratio = unpaired_ratio(one, many, 0.95);
  EXPECT_FALSE(ratio.interval);
  EXPECT_NE(ratio.method.find("one process only"), std::string::npos) << ratio.method;
}

TEST(Statistics, OneProcessIsCutIntoSixStretches) {
  const Series one{{1, 2, 3, 4, 5, 6, 7, 8}};
  std::vector<std::size_t> lengths;
  double next = 1;
  for (const auto unit : units(one)) {
    lengths.push_back(unit.size());
    for (const double value : unit) EXPECT_EQ(value, next++);
  }
  EXPECT_EQ(next, 9);
  EXPECT_EQ(lengths, (std::vector<std::size_t>{1, 1, 2, 1, 1, 2}));
  EXPECT_EQ(units({{1, 2}}).size(), 2u);
  EXPECT_EQ(units({{1, 2}, {3}}).size(), 2u);
}

// n = 10: the signed-rank statistic is at most 8 with a probability of 25 / 1024, at most 9 with 33 / 1024.
TEST(SignedRank, IntervalByHand) {
  const std::vector<double> values{1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
  const auto interval = signed_rank_interval(values, 1 - 2 * 25.0 / 1024);
  ASSERT_TRUE(interval);
  // The means of pairs in order: 1, 1.5, 2, 2.5, 3, 4, 4.5, 5, 6, 8, ... 257, 258, 260, 264, 272, 288, 320,
  // 384, 512. Nine on either side are left out but for the last.
  EXPECT_DOUBLE_EQ(interval->low, 6);
  EXPECT_DOUBLE_EQ(interval->high, 257);
  EXPECT_DOUBLE_EQ(signed_rank_interval(values, 1 - 2 * 33.0 / 1024)->low, 8);
  EXPECT_DOUBLE_EQ(signed_rank_centre({1, 2, 9}), 3.5);  // of 1, 1.5, 2, 5, 5.5, 9
}

TEST(SignedRank, FewValuesCannotMissRarely) {
  const std::vector<double> six{1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(signed_rank_interval(six, 1 - 2.0 / 64));
  EXPECT_FALSE(signed_rank_interval(six, 1 - 1.9 / 64));
  EXPECT_THROW(signed_rank_interval(six, 1.0), std::invalid_argument);
}

TEST(Statistics, TurnsWithOneOutlierAndOneMissing) {
  std::vector<Sample> a, b;
  for (int turn = 0; turn < 12; ++turn) {
    const double machine = 1000 + 50 * turn;
    a.push_back({turn, 0, machine});
    if (turn != 4) b.push_back({turn, 0, machine * (turn == 7 ? 1.4 : 1.03)});
  }
  const Estimate ratio = turns_ratio(b, a, 0.98);
  EXPECT_EQ(ratio.processes, 22);
  EXPECT_NEAR(ratio.value, 1.03, 1e-12);
  ASSERT_TRUE(ratio.interval);
  EXPECT_NEAR(ratio.interval->low, 1.03, 1e-12);
  EXPECT_LT(ratio.interval->high, 1.21);
  EXPECT_NE(ratio.method.find("signed ranks"), std::string::npos);
  // Four turns miss with 1 / 16 on a side: Student's t stands in.
  const auto four = turns_ratio(std::span(b).first(4), a, 0.98);
  EXPECT_NE(four.method.find("4 turns are few"), std::string::npos);
  EXPECT_FALSE(turns_ratio(std::span(b).first(1), a, 0.98).interval);
  EXPECT_THROW(turns_ratio(std::span(b).first(0), a, 0.98), std::invalid_argument);
}

// Welch's own formulas by hand: variances 1 and 4 of three and four values.
TEST(Statistics, WelchIntervalByHand) {
  const Interval interval = welch_interval({9, 10, 11}, {1, 3, 3, 5}, 0.95);
  const double square = 1.0 / 3 + 8.0 / 3 / 4;
  const double degrees = square * square / (1.0 / 9 / 2 + 4.0 / 9 / 3);
  EXPECT_NEAR(interval.low, 7 - student_t(0.95, degrees) * std::sqrt(square), 1e-12);
  EXPECT_NEAR(interval.high, 7 + student_t(0.95, degrees) * std::sqrt(square), 1e-12);
  EXPECT_NEAR(welch_interval({2, 2}, {1, 1}, 0.95).low, 1, 1e-15);
}

TEST(Statistics, LagOneByHand) {
  // About the mean 2: -1 1 -1 1; products -3, squares 4, and 1/4 for the mean taken from four values.
  EXPECT_DOUBLE_EQ(lag1_autocorrelation({{1, 3, 1, 3}}), -0.5);
  EXPECT_DOUBLE_EQ(lag1_autocorrelation({{1, 3, 1, 3}, {11, 13, 11, 13}}), -0.5);
  EXPECT_EQ(lag1_autocorrelation({{5, 5, 5}}), 0);
  EXPECT_EQ(lag1_autocorrelation({{5}, {6}}), 0);
}

TEST(Statistics, DriftIsTheRelativeChangeOfABlock) {
  std::vector<std::vector<double>> times(2);
  for (int b = 0; b < 10; ++b) {
    times[0].push_back(100 * std::pow(1.02, b));
    times[1].push_back(200 * std::pow(1.02, b));
  }
  times[0][4] = 1000;  // one disturbed block does not move the slope
  EXPECT_NEAR(median_time(samples_of(times), 0.95).drift, 0.02, 1e-3);
  EXPECT_EQ(median_time(samples_of({{7}}), 0.95).drift, 0);
}

TEST(Statistics, QuantilesOfStudentsT) {
  // Abramowitz and Stegun, table 26.10.
  EXPECT_NEAR(student_t(0.95, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t(0.95, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_t(0.99, 3), 5.841, 5e-4);
  EXPECT_NEAR(student_t(0.95, 10), 2.228, 5e-4);
  EXPECT_NEAR(student_t(0.90, 29), 1.699, 5e-4);
  EXPECT_NEAR(student_t(0.95, 1e6), 1.95996, 1e-5);
  EXPECT_NEAR(student_t(0.99999, 2), 316.225, 1e-2);  // closed form: p sqrt(2 / (1 - p^2))
  // Between whole degrees: P(|T| > t) for 2.5 by numerical integration.
  EXPECT_NEAR(student_t(0.95, 2.5), 3.5747, 5e-4);
  EXPECT_THROW(student_t(1, 2), std::invalid_argument);
  EXPECT_THROW(student_t(0.95, 0), std::invalid_argument);
}

TEST(Statistics, StudentIntervalByHand) {
  // Mean 2, standard deviation 1, three values: 2 +- 4.3027 / sqrt(3).
  const Interval interval = student_interval({1, 2, 3}, 0.95);
  EXPECT_NEAR(interval.low, 2 - 2.4841, 1e-4);
  EXPECT_NEAR(interval.high, 2 + 2.4841, 1e-4);
}

TEST(Statistics, LevelsOfAllLooksTogetherMissNoMoreThanAsked) {
  EXPECT_NEAR(level_at_look(0.95, 1), 0.975, 1e-12);
  EXPECT_NEAR(level_at_look(0.95, 2), 1 - 0.05 / 6, 1e-12);
  double missed = 0;
  for (int look = 1; look <= 1000; ++look) missed += 1 - level_at_look(0.95, look);
  EXPECT_LE(missed, 0.05);
  EXPECT_GE(missed, 0.0499);
  EXPECT_THROW(level_at_look(0.95, 0), std::invalid_argument);
}

TEST(Statistics, EachLookSeesHalfAsManyBlocksAgain) {
  const std::vector<int> expected{20, 30, 45, 68, 102, 153, 230};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(blocks_at_look(static_cast<int>(i) + 1), expected[i]);
  }
  EXPECT_GT(blocks_at_look(44), 0);
  EXPECT_THROW(blocks_at_look(0), std::invalid_argument);
  EXPECT_THROW(blocks_at_look(100), std::invalid_argument);
}

TEST(Statistics, RelativeWidth) {
  Estimate estimate;
  estimate.value = 100;
  estimate.interval = Interval{98, 104};
  EXPECT_DOUBLE_EQ(relative_half_width(estimate), 0.03);
}

TEST(Statistics, RefusesWhatIsNoMeasurement) {
  EXPECT_THROW(median_time({}, 0.95), std::invalid_argument);
  EXPECT_THROW(median_time(samples_of({{0}}), 0.95), std::invalid_argument);
  EXPECT_THROW(median_time(samples_of({{INFINITY}}), 0.95), std::invalid_argument);
  EXPECT_THROW(median_time(samples_of({{NAN}}), 0.95), std::invalid_argument);
  EXPECT_THROW(median_time(samples_of({{1}}), 1), std::invalid_argument);
  const std::vector<Sample> twice{{0, 0, 1, 1}, {0, 0, 2, 1}};
  EXPECT_THROW(median_time(twice, 0.95), std::invalid_argument);
}

// Clopper and Pearson's limits: closed for no hit, else from tables of the beta distribution.
TEST(RateUpperLimit, ClopperPearson) {
  EXPECT_NEAR(rate_upper_limit(0, 200, 0.95), 1.0 - std::pow(0.05, 1.0 / 200.0), 1e-12);
  EXPECT_NEAR(rate_upper_limit(0, 26000, 0.95), 3.0 / 26000.0, 0.01 / 26000.0);
  EXPECT_NEAR(rate_upper_limit(1, 10, 0.95), 0.394163, 1e-6);
  EXPECT_NEAR(rate_upper_limit(5, 10, 0.95), 0.777559, 1e-6);
  EXPECT_EQ(rate_upper_limit(10, 10, 0.95), 1.0);
  EXPECT_THROW(rate_upper_limit(1, 0, 0.95), std::invalid_argument);
  EXPECT_THROW(rate_upper_limit(-1, 5, 0.95), std::invalid_argument);
  EXPECT_THROW(rate_upper_limit(1, 5, 1.0), std::invalid_argument);
}

}  // namespace
}  // namespace ampgate::results
