#include "results/growth.h"

#include <gtest/gtest.h>

#include <cmath>

#include "synthetic.h"

namespace ampgate::results {
namespace {

// t = 100 size^exponent, times a process's and a block's own factor that is the same at all sizes.
std::vector<SizedSamples> exact(double exponent, const std::vector<double>& sizes) {
  std::vector<SizedSamples> points;
  for (const double size : sizes) {
    const double time = 100 * std::pow(size, exponent);
    points.push_back({size, samples_of({{time, 2 * time, 3 * time}, {1.5 * time, time, 4 * time}})});
  }
  return points;
}

TEST(Growth, OfAPowerLawIsItsExponent) {
  for (const double exponent : {-0.5, 0.0, 1.0, 2.81}) {
    const Estimate estimate = growth_exponent(exact(exponent, {3, 10, 64, 100}), 0.95);
    EXPECT_NEAR(estimate.value, exponent, 1e-12);
    ASSERT_TRUE(estimate.interval);
    EXPECT_NEAR(estimate.interval->low, exponent, 1e-9);
    EXPECT_NEAR(estimate.interval->high, exponent, 1e-9);
    EXPECT_EQ(estimate.samples, 6);
    EXPECT_EQ(estimate.processes, 2);
  }
}

// Sizes 1, 2, 4 and times 1, 1, 4: by hand, slope (-1 * 0 + 0 * 0 + 1 * 2) / (1 + 0 + 1) = 1 in units of log
// 2; the fit goes through log2 t = -1/3, 2/3, 5/3, off by 1/3, 2/3, 1/3.
TEST(Growth, LeastSquaresByHand) {
  EXPECT_NEAR(log_slope({1, 2, 4}, {1, 1, 4}), 1.0, 1e-12);
  EXPECT_NEAR(largest_deviation({1, 2, 4}, {1, 1, 4}), std::pow(2.0, 2.0 / 3.0), 1e-12);
}

TEST(Growth, TakesOnlyBlocksThatAllSizesHave) {
  auto points = exact(2.0, {1, 2});
  points[1].samples[0].time_ns *= 1000;
  points[0].samples.erase(points[0].samples.begin());
  const Estimate estimate = growth_exponent(points, 0.95);
  EXPECT_EQ(estimate.samples, 5);
  EXPECT_NEAR(estimate.value, 2.0, 1e-12);
}

TEST(Growth, RefusesWhatHasNoSlope) {
  EXPECT_THROW(growth_exponent(exact(1.0, {8}), 0.95), std::invalid_argument);
  EXPECT_THROW(growth_exponent(exact(1.0, {8, 8}), 0.95), std::invalid_argument);
  EXPECT_THROW(growth_exponent({}, 0.95), std::invalid_argument);
  auto apart = exact(1.0, {1, 2});
  for (auto& sample : apart[1].samples) sample.process += 10;
  EXPECT_THROW(growth_exponent(apart, 0.95), std::invalid_argument);
}

// 1000 runs of five sizes: 95 % intervals hold the true exponent in 93 to 97 %, whether or not processes
// differ.
TEST(Growth, IntervalsCover) {
  constexpr double kExponent = 1.7;
  for (const double between : {0.0, 3.0}) {
    Synthetic synthetic(11);
    int covered = 0;
    for (int run = 0; run < 1000; ++run) {
      std::vector<SizedSamples> points;
      for (const double size : {16.0, 32.0, 64.0, 128.0, 256.0})
        points.push_back({size, synthetic.run({.processes = 5,
                                               .blocks = 8,
                                               .between = between,
                                               .centre_ns = 1000 * std::pow(size, kExponent)})});
      const Estimate estimate = growth_exponent(points, 0.95);
      covered += estimate.interval->low <= kExponent && kExponent <= estimate.interval->high ? 1 : 0;
    }
    EXPECT_GE(covered, 930) << between;
    EXPECT_LE(covered, 970) << between;
  }
}

}  // namespace
}  // namespace ampgate::results
