#include "bench/conditions.h"

#include <gtest/gtest.h>

namespace ampgate::bench {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

class DisturbanceTest : public ::testing::Test {
 protected:
  std::string verdict() const { return disturbance(before_, after_, 10'000); }
  static Conditions calm() {
    Conditions now;
    now.host.steal_ns = 70;
    now.host.run_delay_ns = 500;
    now.host.preemptions = 3;
    now.host.memory_stall_us = 9;
    now.device.throttled = "";
    now.device.throttle_events = 4.0;
    now.probe_ns = 10'000;
    return now;
  }
  void SetUp() override { after_.at_ns = before_.at_ns + 20 * kMillisecond; }
  Conditions before_ = calm();
  Conditions after_ = calm();
};

TEST_F(DisturbanceTest, NothingChangedNothingDisturbed) { EXPECT_EQ(verdict(), ""); }

TEST_F(DisturbanceTest, StolenTime) {
  after_.host.steal_ns += 10 * kMillisecond;
  EXPECT_EQ(verdict(), "the hypervisor took 50 % of a CPU's time");
}

TEST_F(DisturbanceTest, AnotherProcessOnTheCpu) {
  after_.host.run_delay_ns += 4 * kMillisecond;
  after_.host.preemptions += 1;
  EXPECT_EQ(verdict(), "threads waited for a CPU that another process held, 20 % of the time together");
  after_.host.run_delay_ns = before_.host.run_delay_ns + kMillisecond / 10;
  EXPECT_EQ(verdict(), "") << "half a percent is below what is noticed";
}

TEST_F(DisturbanceTest, ThreadsThatSleptAtABarrier) {
  after_.host.turns += 40;
  after_.host.run_delay_ns += 40 * 20'000;
  EXPECT_EQ(verdict(), "") << "each waits a moment for its CPU without any other process";
  after_.host.run_delay_ns += 4 * kMillisecond;
  EXPECT_EQ(verdict(), "threads waited for a CPU that another process held, 24 % of the time together")
      << "nobody was preempted: the other process had the CPU already when a thread woke up";
  after_.host.turns += 100'000;
  EXPECT_NE(verdict(), "") << "many wake-ups are short ones";
}

TEST_F(DisturbanceTest, MemoryPressure) {
  *after_.host.memory_stall_us += 1000;
  EXPECT_EQ(verdict(), "processes waited for memory for 5 %");
}

TEST_F(DisturbanceTest, ThrottledByTheDevicesWord) {
  after_.device.throttled = "power limit";
  EXPECT_EQ(verdict(), "") << "that is how a card runs under load";
  after_.device.throttled = "heat (hardware)";
  EXPECT_EQ(verdict(), "throttled: heat (hardware)");
  after_.device.throttled = "";
  after_.device.throttle_events = 5.0;
  EXPECT_EQ(verdict(), "throttled for heat");
}

TEST_F(DisturbanceTest, ASlowClockBeforeAndAfter) {
  after_.probe_ns = 20'000;
  EXPECT_EQ(verdict(), "") << "once is an interrupt";
  before_.probe_ns = 12'500;
  EXPECT_EQ(verdict(), "the CPU's clock was 20 % slower than usual");
}

TEST(Conditions, AreThoseOfThisProcess) {
  const auto backend = backends::open("cpu");
  DisturbanceWatch watch(*backend);
  watch.begin();
  watch.end();
  const auto summary = watch.summary();
  EXPECT_GT(summary.at("before").at("probe_ns"), 0);
  EXPECT_GT(summary.at("after").at("memory_available_bytes"), 0);
}

}  // namespace
}  // namespace ampgate::bench
