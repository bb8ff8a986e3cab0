#include "bench/cell.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "bench/allocations.h"
#include "bench/schedule.h"
#include "fake_case.h"

namespace ampgate::bench {
namespace {

using testing::behaviour;
using testing::Fault;

// Counts starts, and calls between start and stop; says that 7 ns passed for each.
class CountingTimer : public backends::Timer {
 public:
  void start() override {
    ++starts;
    begin_ = behaviour().calls;
  }
  void stop() override { timed_calls += behaviour().calls - begin_; }
  std::int64_t elapsed_ns() override { return 7 * timed_calls; }
  int starts = 0;
  std::int64_t timed_calls = 0;

 private:
  std::int64_t begin_ = 0;
};

class CellTest : public ::testing::Test {
 protected:
  void SetUp() override { behaviour() = {}; }
  void TearDown() override { behaviour() = {}; }
  cases::State state_{{{"x", at::ones({64})}}};
  InferenceBody body_{testing::fake_case(), state_, precision::baseline(), c10::kCPU};
  at::NoGradGuard no_grad_;
  std::unique_ptr<backends::Backend> backend_ = backends::open("cpu");
};

TEST_F(CellTest, TimesExactlyTheCallsAskedFor) {
  for (const std::int64_t calls : {1, 2, 137, 5000}) {
    behaviour() = {};
    CountingTimer timer;
    const Cell cell = run_cell("fake/64/fp32", body_, {calls}, *backend_, timer);
    EXPECT_EQ(timer.starts, 1);
    EXPECT_EQ(timer.timed_calls, calls);
    EXPECT_EQ(cell.calls, calls);
    EXPECT_EQ(cell.time_ns, 7 * calls);
    EXPECT_EQ(behaviour().calls, calls + lead_in_calls(calls));
  }
}

TEST_F(CellTest, KeepsNanosecondsThroughGoogleBenchmark) {
  struct FixedTimer : backends::Timer {
    void start() override {}
    void stop() override {}
    std::int64_t elapsed_ns() override { return 123'456'789'013; }
  } timer;
  EXPECT_EQ(run_cell("fake", body_, {1}, *backend_, timer).time_ns, 123'456'789'013);
}

TEST_F(CellTest, NamesWithPatternCharactersRunOnce) {
  CountingTimer timer;
  EXPECT_EQ(run_cell("gelu(tanh)/[64]+", body_, {3}, *backend_, timer).calls, 3);
}

TEST_F(CellTest, ThrowsWhatTheBodyThrowsAndWorksAgainAfterwards) {
  for (const long from_call : {0L, 5L}) {  // in the lead-in, in the timed part
    behaviour() = {.fault = Fault::kThrow, .from_call = from_call};
    CountingTimer timer;
    EXPECT_THROW(run_cell("fake", body_, {10}, *backend_, timer), std::runtime_error);
  }
  behaviour() = {};
  CountingTimer timer;
  EXPECT_EQ(run_cell("fake", body_, {10}, *backend_, timer).calls, 10);
}

TEST_F(CellTest, OutputsAreReleasedAtEachCall) {
  state_.tensors[0].tensor = at::ones({1 << 20});
  const auto backend = backends::open("cpu");
  const auto meter = backend->memory_meter();
  meter->begin();
  run_calls(body_, 5);
  const auto use = meter->end();
  EXPECT_EQ(use.allocations, 5);
  EXPECT_EQ(use.peak_bytes, 4 << 20) << "never two outputs at once";
}

TEST_F(CellTest, AsManyOutputsAreDestroyedInsideTheClockAsAreMade) {
  // Blocks handed out and taken back while the clock runs.
  class Counter : public backends::Timer, public AllocationListener {
   public:
    void start() override { running_ = true; }
    void stop() override { running_ = false; }
    std::int64_t elapsed_ns() override { return 1; }
    void allocated(void*, std::int64_t) override { made += running_ ? 1 : 0; }
    void released(void*) override { destroyed += running_ ? 1 : 0; }
    int made = 0;
    int destroyed = 0;

   private:
    bool running_ = false;
  };
  for (const CellPlan& plan : {CellPlan{.calls = 7}, CellPlan{.calls = 7, .each_call = true}}) {
    Counter counter;
    const AllocationScope scope(counter);
    const Cell cell = run_cell("fake", body_, plan, *backend_, counter);
    EXPECT_EQ(counter.made, 7);
    EXPECT_EQ(counter.destroyed, 7);
    ASSERT_EQ(cell.outputs.size(), 1U) << "those of the last call are there to be looked at";
    EXPECT_TRUE(cell.outputs[0].equal(state_[0] + state_[0]));
  }
}

TEST_F(CellTest, EachCallBetweenItsOwnReadingsOfTheClock) {
  CountingTimer timer;
  const Cell cell = run_cell("fake", body_, {.calls = 5, .each_call = true}, *backend_, timer);
  EXPECT_EQ(timer.starts, 5);
  EXPECT_EQ(timer.timed_calls, 5);
  // This timer's time grows by 7 ns with every call that it ever saw.
  EXPECT_EQ(cell.call_times_ns, (std::vector<std::int64_t>{7, 14, 21, 28, 35}));
  EXPECT_EQ(cell.time_ns, 7 + 14 + 21 + 28 + 35);
  EXPECT_EQ(cell.calls, 5);
}

TEST_F(CellTest, CachesAreEmptiedBeforeEachCallOutsideTheTimedSection) {
  struct Flush : backends::MemoryPasses {
    void read() override { calls_before.push_back(behaviour().calls); }
    void write() override { FAIL() << "dirty lines would be written back while the call is timed"; }
    void copy() override { FAIL(); }
    std::vector<long> calls_before;
  } flush;
  CountingTimer timer;
  run_cell("fake", body_, {.calls = 3, .each_call = true, .flush = &flush}, *backend_, timer);
  const auto lead_in = static_cast<long>(lead_in_calls(3));
  EXPECT_EQ(flush.calls_before, (std::vector<long>{lead_in, lead_in + 1, lead_in + 2}));
}

TEST_F(CellTest, AClockThatGoesBackwardsIsAnError) {
  struct Backwards : backends::Timer {
    void start() override {}
    void stop() override {}
    std::int64_t elapsed_ns() override { return -12; }
  } timer;
  try {
    run_cell("fake", body_, {10}, *backend_, timer);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the clock went backwards by 12 ns while 10 calls were timed");
  }
}

TEST_F(CellTest, ClockTimeOfTheCpuIsShort) {
  const auto timer = backends::open("cpu")->timer();
  const auto time = clock_time_ns(*timer);
  EXPECT_GE(time, 0);
  EXPECT_LT(time, 10'000);
}

}  // namespace
}  // namespace ampgate::bench
