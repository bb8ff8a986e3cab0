// By hand: for n losses of mean m and standard deviation s the limits are m +- t s / sqrt(n), t being the 95
// % point of Student's distribution with n - 1 degrees of freedom.
#include "results/noninferiority.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ampgate::results {
namespace {

const std::vector<double> kLosses{0.01, 0.02, 0.03};  // m = 0.02, s = 0.01
constexpr double kT2 = 2.919985580;                   // of two degrees of freedom

TEST(NonInferiority, LimitsOfThreeSeeds) {
  const auto test = test_noninferiority(kLosses, 0.04);
  EXPECT_NEAR(test.mean_loss, 0.02, 1e-15);
  EXPECT_NEAR(test.deviation, 0.01, 1e-15);
  EXPECT_NEAR(test.lower.value(), 0.02 - kT2 * 0.01 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(test.upper.value(), 0.02 + kT2 * 0.01 / std::sqrt(3.0), 1e-9);
}

// The limits are 0.0031 and 0.0369.
TEST(NonInferiority, IsShownRefutedOrOpenByTheMargin) {
  EXPECT_EQ(test_noninferiority(kLosses, 0.037).outcome, NonInferiority::kShown);
  EXPECT_EQ(test_noninferiority(kLosses, 0.0368).outcome, NonInferiority::kOpen);
  EXPECT_EQ(test_noninferiority(kLosses, 0.0032).outcome, NonInferiority::kOpen);
  EXPECT_EQ(test_noninferiority(kLosses, 0.003).outcome, NonInferiority::kWorse);
}

TEST(NonInferiority, SaysHowManySeedsWouldTell) {
  EXPECT_EQ(test_noninferiority(kLosses, 0.025).seeds_wanted, 25);  // open: 6.2 (0.01 / 0.005)^2 = 24.8
  EXPECT_EQ(test_noninferiority(kLosses, 0.035).seeds_wanted, 4);   // 6.2 / 2.25 = 2.8, and more than three
  // The mean is beyond the margin, or it is decided: more seeds would tell nothing else.
  EXPECT_FALSE(test_noninferiority(kLosses, 0.01).seeds_wanted.has_value());
  EXPECT_FALSE(test_noninferiority(kLosses, 0.04).seeds_wanted.has_value());
  EXPECT_FALSE(test_noninferiority(kLosses, 0.003).seeds_wanted.has_value());
}

TEST(NonInferiority, OneSeedShowsNothing) {
  const auto test = test_noninferiority({-0.5}, 0.01);
  EXPECT_EQ(test.outcome, NonInferiority::kOpen);
  EXPECT_EQ(test.mean_loss, -0.5);
  EXPECT_FALSE(test.upper || test.lower || test.seeds_wanted);
}

TEST(NonInferiority, SeedsThatAgreeNeedNoMargin) {
  EXPECT_EQ(test_noninferiority({0, 0, 0}, 0).outcome, NonInferiority::kShown);
  EXPECT_EQ(test_noninferiority({0.02, 0.02, 0.02}, 0.01).outcome, NonInferiority::kWorse);
}

TEST(NonInferiority, TwoSeedsThatAgreeShowNothing) {
  const auto test = test_noninferiority({0, 0}, 0.01);
  EXPECT_EQ(test.outcome, NonInferiority::kOpen);
  EXPECT_EQ(test.seeds_wanted, 3);
  EXPECT_EQ(test_noninferiority({0.02, 0.02}, 0.01).outcome, NonInferiority::kOpen);
}

TEST(NonInferiority, RefusesWhatIsNoLoss) {
  EXPECT_THROW(test_noninferiority({}, 0.01), std::invalid_argument);
  EXPECT_THROW(test_noninferiority({0.1, std::nan("")}, 0.01), std::invalid_argument);
  EXPECT_THROW(test_noninferiority({0.1, std::numeric_limits<double>::infinity()}, 0.01),
               std::invalid_argument);
  EXPECT_THROW(test_noninferiority({0.1}, -0.01), std::invalid_argument);
}

}  // namespace
}  // namespace ampgate::results
