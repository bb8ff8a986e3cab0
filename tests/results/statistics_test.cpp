#include "results/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "results/resampling.h"
#include "results/student_t.h"

namespace ampgate::results {
namespace {

std::vector<Sample> samples_of(const std::vector<std::vector<double>>& times) {
  std::vector<Sample> samples;
  for (std::size_t p = 0; p < times.size(); ++p) {
    for (std::size_t b = 0; b < times[p].size(); ++b) {
      samples.push_back({static_cast<int>(p), static_cast<int>(b), times[p][b], 1});
    }
  }
  return samples;
}

// Processes of normal effect on log scale, blocks of normal noise inside them, correlated from block to
// block.
struct Simulation {
  std::mt19937_64 engine;
  std::normal_distribution<double> normal{};

  std::vector<Sample> run(int processes, int blocks, double between, double within, double correlation) {
    std::vector<std::vector<double>> times;
    for (int p = 0; p < processes; ++p) {
      const double effect = between * normal(engine);
      double noise = normal(engine);
      auto& of_process = times.emplace_back();
      for (int b = 0; b < blocks; ++b) {
        noise = correlation * noise + std::sqrt(1 - correlation * correlation) * normal(engine);
        of_process.push_back(1000 * std::exp(effect + within * noise));
      }
    }
    return samples_of(times);
  }
};

TEST(Statistics, MediansAndDeviationsByHand) {
  const Estimate odd = median_time(samples_of({{5, 1, 9}, {2, 4}}), 0.95, 1);
  EXPECT_EQ(odd.value, 4);
  EXPECT_EQ(odd.mad, 2);  // |1 -3 5 -2 0|
  EXPECT_EQ(odd.samples, 5);
  EXPECT_EQ(odd.processes, 2);
  EXPECT_EQ(median_time(samples_of({{4, 1, 3, 10}}), 0.95, 1).value, 3.5);
  EXPECT_EQ(median_time(samples_of({{7}}), 0.95, 1).value, 7);
}

TEST(Statistics, RatioIsPairedByProcessAndBlock) {
  // Block by block twice as fast, though the medians of unpaired times (30 and 10) would say three times.
  std::vector<Sample> slow = samples_of({{20, 30, 80}});
  std::vector<Sample> fast = samples_of({{10, 15, 40}});
  fast[1].block = 7;  // has no partner
  std::swap(slow[0], slow[2]);
  const Estimate ratio = paired_ratio(slow, fast, 0.95, 1);
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_EQ(ratio.samples, 2);
  EXPECT_NEAR(ratio.mad, 0, 1e-15);
  fast[0].process = fast[2].process = 5;
  EXPECT_THROW(paired_ratio(slow, fast, 0.95, 1), std::invalid_argument);
}

TEST(Statistics, RatioAndReverseAreReciprocals) {
  Simulation simulation{std::mt19937_64(3)};
  for (int i = 0; i < 10; ++i) {
    const auto a = simulation.run(3, 8, 0.1, 0.05, 0);
    const auto b = simulation.run(3, 8, 0.1, 0.05, 0);
    const Estimate forward = paired_ratio(a, b, 0.95, 5);
    const Estimate backward = paired_ratio(b, a, 0.95, 5);
    ASSERT_TRUE(forward.interval && backward.interval);
    EXPECT_NEAR(forward.value * backward.value, 1, 1e-14);
    EXPECT_NEAR(forward.interval->low * backward.interval->high, 1, 1e-14);
    EXPECT_NEAR(forward.interval->high * backward.interval->low, 1, 1e-14);
    EXPECT_EQ(forward.mad, backward.mad);
  }
}

TEST(Statistics, TheSameSeedGivesTheSameBits) {
  Simulation simulation{std::mt19937_64(4)};
  const auto samples = simulation.run(3, 8, 0.0, 0.05, 0);
  const Estimate a = median_time(samples, 0.95, 9);
  const Estimate b = median_time(std::vector<Sample>(samples.rbegin(), samples.rend()), 0.95, 9);
  EXPECT_EQ(a.interval->low, b.interval->low);
  EXPECT_EQ(a.interval->high, b.interval->high);
}

TEST(Statistics, NoIntervalFromFewerThanSix) {
  const Estimate few = median_time(samples_of({{10, 12}, {11, 10}, {12}}), 0.95, 1);
  EXPECT_FALSE(few.interval);
  EXPECT_NE(few.method.find("no interval: 5 blocks"), std::string::npos) << few.method;
  EXPECT_EQ(relative_half_width(few), INFINITY);
  EXPECT_TRUE(median_time(samples_of({{10, 12}, {11, 10}, {12, 11}}), 0.95, 1).interval);
  // A trend in one process leaves few independent groups.
  const Estimate trend = median_time(samples_of({{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}}), 0.95, 1);
  EXPECT_FALSE(trend.interval);
  EXPECT_NE(trend.method.find("neighbouring"), std::string::npos) << trend.method;
}

TEST(Statistics, OneProcessSaysWhatItCannotSee) {
  Simulation simulation{std::mt19937_64(2)};
  const Estimate one = median_time(simulation.run(1, 20, 0, 0.05, 0), 0.95, 1);
  ASSERT_TRUE(one.interval) << one.method;
  EXPECT_NE(one.method.find("one process only"), std::string::npos);
}

TEST(Statistics, LagOneByHand) {
  // About the mean 2: -1 1 -1 1; products -3, squares 4, and 1/4 for the mean taken from four values.
  EXPECT_DOUBLE_EQ(lag1_autocorrelation({{1, 3, 1, 3}}), -0.5);
  EXPECT_DOUBLE_EQ(lag1_autocorrelation({{1, 3, 1, 3}, {11, 13, 11, 13}}), -0.5);
  EXPECT_EQ(lag1_autocorrelation({{5, 5, 5}}), 0);
  EXPECT_EQ(lag1_autocorrelation({{5}, {6}}), 0);
}

TEST(Statistics, NeighboursAreMergedUntilIndependent) {
  Simulation simulation{std::mt19937_64(6)};
  const auto group_of = [&](double correlation) {
    Series series;
    for (const Sample& sample : simulation.run(1, 400, 0, 0.05, correlation)) {
      if (series.empty()) series.emplace_back();
      series[0].push_back(std::log(sample.time_ns));
    }
    return group_size(series);
  };
  EXPECT_EQ(group_of(0.0), 1u);
  EXPECT_GE(group_of(0.7), 4u);
  EXPECT_EQ(count_groups({{1, 2, 3, 4, 5, 6, 7}, {1, 2}}, 3), 3u);
}

TEST(Statistics, DriftIsTheRelativeChangeOfABlock) {
  std::vector<std::vector<double>> times(2);
  for (int b = 0; b < 10; ++b) {
    times[0].push_back(100 * std::pow(1.02, b));
    times[1].push_back(200 * std::pow(1.02, b));
  }
  times[0][4] = 1000;  // one disturbed block does not move the slope
  EXPECT_NEAR(median_time(samples_of(times), 0.95, 1).drift, 0.02, 1e-3);
  EXPECT_EQ(median_time(samples_of({{7}}), 0.95, 1).drift, 0);
}

TEST(Statistics, QuantilesOfStudentsT) {
  // Abramowitz and Stegun, table 26.10.
  EXPECT_NEAR(student_t(0.95, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t(0.95, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_t(0.99, 3), 5.841, 5e-4);
  EXPECT_NEAR(student_t(0.95, 10), 2.228, 5e-4);
  EXPECT_NEAR(student_t(0.90, 29), 1.699, 5e-4);
  EXPECT_THROW(student_t(1, 2), std::invalid_argument);
  EXPECT_THROW(student_t(0.95, 0), std::invalid_argument);
}

TEST(Statistics, StudentIntervalByHand) {
  // Mean 2, standard deviation 1, three values: 2 +- 4.3027 / sqrt(3).
  const Interval interval = student_interval({1, 2, 3}, 0.95);
  EXPECT_NEAR(interval.low, 2 - 2.4841, 1e-4);
  EXPECT_NEAR(interval.high, 2 + 2.4841, 1e-4);
}

// Share of `runs` in which the interval holds the true median, 1000 ns.
double coverage(int processes, int blocks, double between, double correlation) {
  Simulation simulation{std::mt19937_64(12345)};
  constexpr int kRuns = 300;
  int held = 0;
  int seen = 0;
  for (int i = 0; i < kRuns; ++i) {
    const Estimate estimate = median_time(simulation.run(processes, blocks, between, 0.03, correlation), 0.95,
                                          static_cast<std::uint64_t>(i));
    if (!estimate.interval) continue;
    ++seen;
    if (estimate.interval->low <= 1000 && 1000 <= estimate.interval->high) ++held;
  }
  EXPECT_GE(seen, kRuns * 8 / 10);
  return static_cast<double>(held) / seen;
}

// 0.95 less three standard deviations of 300 coin tosses (0.0126 each).
constexpr double kLeast = 0.91;

TEST(StatisticsCoverage, ThreeProcessesThatDifferMoreThanTheirBlocks) {
  const double share = coverage(3, 7, 0.1, 0);
  EXPECT_GE(share, kLeast);
  EXPECT_LE(share, 0.99) << "the interval is wider than it says";
}

TEST(StatisticsCoverage, ThreeProcessesOfCorrelatedBlocks) { EXPECT_GE(coverage(3, 7, 0.03, 0.5), kLeast); }

TEST(StatisticsCoverage, FiveProcessesThatDoNotDiffer) { EXPECT_GE(coverage(5, 7, 0, 0), kLeast); }

TEST(StatisticsCoverage, OneProcessOfIndependentBlocks) { EXPECT_GE(coverage(1, 20, 0, 0), kLeast); }

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
  EXPECT_THROW(median_time({}, 0.95, 1), std::invalid_argument);
  EXPECT_THROW(median_time(samples_of({{0}}), 0.95, 1), std::invalid_argument);
  EXPECT_THROW(median_time(samples_of({{INFINITY}}), 0.95, 1), std::invalid_argument);
  EXPECT_THROW(median_time(samples_of({{NAN}}), 0.95, 1), std::invalid_argument);
  EXPECT_THROW(median_time(samples_of({{1}}), 1, 1), std::invalid_argument);
  const std::vector<Sample> twice{{0, 0, 1, 1}, {0, 0, 2, 1}};
  EXPECT_THROW(median_time(twice, 0.95, 1), std::invalid_argument);
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
