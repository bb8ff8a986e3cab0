#include "results/trend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "synthetic.h"

namespace ampgate::results {
namespace {

double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

TEST(Trend, KendallByHand) {
  // Six rising values: S = 15, variance 6 * 5 * 17 / 18; beside the slope nothing is left to be alike.
  const auto p = drift_p_value({{1, 2, 3, 4, 5, 6}});
  ASSERT_TRUE(p);
  EXPECT_NEAR(*p, 2 * normal_tail(14 / std::sqrt(510.0 / 18)), 1e-9);
  // Up in one process and down in the other is no drift.
  EXPECT_NEAR(*drift_p_value({{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}}), 1, 1e-12);
}

TEST(Trend, NothingIsSaidOfFewBlocks) {
  EXPECT_FALSE(drift_p_value({{1, 2, 3, 4, 5}}));
  EXPECT_FALSE(lag1_p_value({{1, 2, 3, 4, 5}}));
  EXPECT_FALSE(drift_p_value({{1, 2}, {1, 2}, {1, 2}, {1, 2}}));
  EXPECT_TRUE(drift_p_value({{1, 2, 3}, {1, 2, 4}}));
  EXPECT_EQ(*lag1_p_value({{5, 5, 5, 5, 5, 5}}), 1);
  EXPECT_EQ(*drift_p_value({{5, 5, 5, 5, 5, 5}}), 1);
}

// The closed mean and variance against all orders of six ranks.
TEST(Trend, SerialCorrelationOverAllOrders) {
  const std::vector<double> values{3.1, 1.2, 2.7, 2.05, 4.4, 3.63};
  const double slope = slope_per_block({values});
  std::vector<double> left;
  for (std::size_t i = 0; i < values.size(); ++i) left.push_back(values[i] - slope * static_cast<double>(i));
  // The slope is that of one pair, whose values are then equal and share their rank.
  std::vector<double> ranks;
  for (const double value : left) {
    double below = 0;
    for (const double other : left) below += other < value ? 1 : other == value ? 0.5 : 0;
    ranks.push_back(below - 3);
  }
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  const auto products = [&] {
    double sum = 0;
    for (std::size_t i = 1; i < order.size(); ++i) sum += ranks[order[i]] * ranks[order[i - 1]];
    return sum;
  };
  const double observed = products();
  double sum = 0, squares = 0;
  int count = 0;
  do {
    sum += products();
    squares += products() * products();
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  const double mean_product = sum / count;
  const double deviation = std::sqrt(squares / count - mean_product * mean_product);
  EXPECT_NEAR(*lag1_p_value({values}), normal_tail((observed - mean_product) / deviation), 1e-12);
}

struct Rates {
  double drift = 0, lag1 = 0;
};

// Shares of 2000 runs that the tests call significant at 1 %.
Rates rates(const Design& design) {
  Synthetic synthetic(7);
  constexpr int kRuns = 2000;
  Rates found;
  for (int i = 0; i < kRuns; ++i) {
    const Estimate estimate = median_time(synthetic.run(design), 0.95);
    found.drift += *estimate.drift_p < 0.01 ? 1.0 / kRuns : 0;
    found.lag1 += *estimate.lag1_p < 0.01 ? 1.0 / kRuns : 0;
  }
  return found;
}

TEST(Trend, FalseAlarmsAreRare) {
  for (const Design& design : {Design{}, Design{.processes = 5, .blocks = 4, .between = 4},
                               Design{.processes = 1, .blocks = 20}, Design{.outlier_share = 0.1}}) {
    const Rates found = rates(design);
    EXPECT_LE(found.drift, 0.02) << design.processes << " x " << design.blocks;
    EXPECT_LE(found.lag1, 0.02) << design.processes << " x " << design.blocks;
  }
  // Correlated blocks are not taken for a drift, nor a drift for correlation.
  EXPECT_LE(rates({.blocks = 20, .correlation = 0.5}).drift, 0.04);
  EXPECT_LE(rates({.blocks = 20, .drift = 0.3}).lag1, 0.02);
}

TEST(Trend, WhatIsThereIsFound) {
  EXPECT_GE(rates({.blocks = 20, .drift = 0.1}).drift, 0.9);
  EXPECT_GE(rates({.blocks = 20, .correlation = 0.7}).lag1, 0.9);
}

}  // namespace
}  // namespace ampgate::results
