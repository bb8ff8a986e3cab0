#include "results/percentiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "results/student_t.h"

namespace ampgate::results {
namespace {

std::vector<double> counting(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Percentiles, QuantileByHand) {
  EXPECT_DOUBLE_EQ(quantile(counting(5), 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile(counting(4), 0.5), 2.5);
  // (100 + 1/3) * 0.9 + 1/3 = 90.6333...
  EXPECT_NEAR(quantile(counting(100), 0.9), 90.0 + 19.0 / 30, 1e-12);
  EXPECT_EQ(quantile(counting(10), 0.999), 10);
  EXPECT_EQ(quantile(counting(10), 0.001), 1);
  EXPECT_EQ(quantile(counting(1), 0.5), 1);
}

TEST(Percentiles, ExtremesAndCounts) {
  const Latency found = latency({{5, 1, 9}, {2, 4}}, 0.95);
  EXPECT_EQ(found.min_ns, 1);
  EXPECT_EQ(found.max_ns, 9);
  EXPECT_EQ(found.calls, 5);
  EXPECT_EQ(found.processes, 2);
  EXPECT_EQ(found.percentiles[2].probability, 0.99);
}

TEST(Percentiles, RefusesAPercentileThatTooFewCallsShow) {
  EXPECT_TRUE(percentile({counting(1000)}, 0.99, 0.95).time_ns);
  const Percentile few = percentile({counting(999)}, 0.99, 0.95);
  EXPECT_FALSE(few.time_ns);
  EXPECT_FALSE(few.interval);
  EXPECT_EQ(few.method, "999 calls, at least 1000 are needed");
  EXPECT_TRUE(percentile({counting(100)}, 0.9, 0.95).time_ns);
  EXPECT_FALSE(percentile({counting(99)}, 0.9, 0.95).time_ns);
  EXPECT_TRUE(percentile({counting(20)}, 0.5, 0.95).time_ns);
  EXPECT_FALSE(percentile({counting(19)}, 0.5, 0.95).time_ns);
}

TEST(Percentiles, EveryProcessMustSayEnough) {
  const Percentile enough = percentile({counting(800), counting(200)}, 0.99, 0.95);
  EXPECT_TRUE(enough.interval) << enough.method;
  const Percentile one_short = percentile({counting(801), counting(199)}, 0.99, 0.95);
  EXPECT_TRUE(one_short.time_ns);
  EXPECT_FALSE(one_short.interval);
  EXPECT_EQ(one_short.method, "no interval: 199 calls in a process, at least 200 are needed");
  const Percentile one = percentile({counting(1199)}, 0.99, 0.95);
  EXPECT_NE(one.method.find("no interval: 199 calls in a stretch"), std::string::npos) << one.method;
  const Percentile stretches = percentile({counting(1200)}, 0.99, 0.95);
  EXPECT_TRUE(stretches.interval);
  EXPECT_NE(stretches.method.find("the one process"), std::string::npos) << stretches.method;
}

TEST(Percentiles, IntervalIsStudentsOverTheProcesses) {
  // Processes whose every time differs by a factor e: percentiles 0, 1 and 2 apart on log scale.
  Series times(3);
  for (int p = 0; p < 3; ++p) {
    for (const double value : counting(100))
      times[static_cast<std::size_t>(p)].push_back(value * std::exp(p));
  }
  const Percentile found = percentile(times, 0.9, 0.95);
  const double middle = std::log(quantile(counting(100), 0.9)) + 1;
  EXPECT_NEAR(std::log(found.interval->low), middle - student_t(0.95, 2) / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(std::log(found.interval->high), middle + student_t(0.95, 2) / std::sqrt(3.0), 1e-9);
}

TEST(Percentiles, RefusesWhatIsNoMeasurement) {
  EXPECT_THROW(latency({}, 0.95), std::invalid_argument);
  EXPECT_THROW(latency({{1}, {}}, 0.95), std::invalid_argument);
  EXPECT_THROW(latency({{1, 0}}, 0.95), std::invalid_argument);
  EXPECT_THROW(latency({{1, NAN}}, 0.95), std::invalid_argument);
  EXPECT_THROW(latency({{1}}, 1), std::invalid_argument);
  EXPECT_THROW(percentile({{1}}, 1, 0.95), std::invalid_argument);
}

// Times with a right tail in processes that differ, as latencies have them: log t = effect + 0.03 normal,
// and one call in twenty with an exponential part. The truth: the percentile of very many calls without
// effect.
class Calls {
 public:
  std::vector<double> process(int calls, double between) {
    const double effect = between * normal_(engine_);
    std::vector<double> times;
    for (int i = 0; i < calls; ++i) {
      const double tail = uniform_(engine_) < 0.05 ? 0.2 * exponential_(engine_) : 0;
      times.push_back(std::exp(effect + 0.03 * normal_(engine_) + tail));
    }
    return times;
  }

 private:
  std::mt19937_64 engine_{5};
  std::normal_distribution<double> normal_{};
  std::exponential_distribution<double> exponential_{};
  std::uniform_real_distribution<double> uniform_{};
};

TEST(Percentiles, Coverage) {
  Calls calls;
  auto many = calls.process(1'000'000, 0);
  std::sort(many.begin(), many.end());
  constexpr int kRuns = 400;
  for (const int processes : {3, 8}) {
    for (const double between : {0.0, 0.1}) {
      std::array<int, kPercentiles.size()> held{};
      for (int i = 0; i < kRuns; ++i) {
        Series times;
        for (int p = 0; p < processes; ++p) times.push_back(calls.process(350, between));
        const Latency found = latency(times, 0.95);
        for (std::size_t k = 0; k < kPercentiles.size(); ++k) {
          const double truth = quantile(many, kPercentiles[k]);
          const auto& interval = found.percentiles[k].interval;
          ASSERT_TRUE(interval) << found.percentiles[k].method;
          held[k] += interval->low <= truth && truth <= interval->high ? 1 : 0;
        }
      }
      // 0.93 and 0.97 and three standard deviations of 400 coin tosses.
      for (std::size_t k = 0; k < kPercentiles.size(); ++k) {
        EXPECT_GE(held[k], kRuns * (0.93 - 0.035)) << processes << ", " << between << ", " << kPercentiles[k];
        EXPECT_LE(held[k], kRuns * (0.97 + 0.03)) << processes << ", " << between << ", " << kPercentiles[k];
      }
    }
  }
}

}  // namespace
}  // namespace ampgate::results
