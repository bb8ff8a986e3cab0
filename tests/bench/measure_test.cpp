#include "bench/measure.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "bench/schedule.h"
#include "fake_case.h"

namespace ampgate::bench {
namespace {

using results::Json;
using testing::answer;
using testing::behaviour;
using testing::Fault;
using testing::named;

class MeasureTest : public ::testing::Test {
 protected:
  void SetUp() override { behaviour() = {}; }
  void TearDown() override { behaviour() = {}; }

  Plan plan(const std::vector<std::string>& precisions = {"fp32", "cast-fp16", "cast-bf16"}) {
    return testing::fake_plan(Phase::kBench, precisions, *backend_);
  }
  std::vector<Json> run(const Plan& plan) {
    return testing::events_of(
        [&](results::EventWriter& events) { totals_ = measure(plan, *backend_, events); });
  }

  at::NoGradGuard no_grad_;
  std::unique_ptr<backends::Backend> backend_ = backends::open("cpu");
  ProcessTotals totals_;
};

TEST_F(MeasureTest, EveryPrecisionOnceABlockInTheSeededOrder) {
  const auto events = run(plan());
  const auto samples = named(events, "sample");
  // Three blocks, and one more for each that the machine disturbed, at most three.
  std::set<int> disturbed;
  for (const auto& sample : samples) {
    if (sample.contains("disturbed")) disturbed.insert(sample.at("block").get<int>());
  }
  const int blocks = 3 + std::min(3, static_cast<int>(disturbed.size()));
  ASSERT_EQ(std::ssize(samples), 3 * blocks);
  const std::vector<std::string> ids{"fake/1000/fp32", "fake/1000/cast-fp16", "fake/1000/cast-bf16"};
  std::size_t next = 0;
  std::int64_t total = 0;
  for (int block = 4; block < 4 + blocks; ++block) {
    const auto order = block_order(11, "fake/1000", 0, block, 3);
    for (int position = 0; position < 3; ++position, ++next) {
      EXPECT_EQ(samples[next].at("id"), ids[order[position]]);
      EXPECT_EQ(samples[next].at("block"), block);
      EXPECT_EQ(samples[next].at("order"), position);
      EXPECT_EQ(samples[next].at("process"), 0);
      EXPECT_GE(samples[next].at("calls"), 1);
      EXPECT_GT(samples[next].at("time_ns"), 0);
      EXPECT_GE(samples[next].at("page_faults"), 0);
      total += samples[next].at("time_ns").get<std::int64_t>();
    }
  }
  EXPECT_EQ(totals_.timed_ns, total);
  for (const auto& id : ids) {
    EXPECT_EQ(answer(events, id).at("verdict"), "measured") << answer(events, id);
    EXPECT_EQ(answer(events, id).at("output_check"), "digest");
  }
}

std::set<int> blocks_of(const std::vector<Json>& events) {
  std::set<int> blocks;
  for (const auto& sample : named(events, "sample")) blocks.insert(sample.at("block").get<int>());
  return blocks;
}

TEST_F(MeasureTest, NoBlockBeginsAfterTheTimeOfItsGroup) {
  auto limited = plan();
  limited.schedule.blocks = 1000;
  limited.schedule.group_time_ns = 1;
  EXPECT_EQ(blocks_of(run(limited)), std::set<int>{4}) << "the first block runs in any case";
  limited.schedule.group_time_ns = 100'000'000;
  const auto blocks = blocks_of(run(limited)).size();
  EXPECT_GT(blocks, 1U);
  EXPECT_LT(blocks, 1000U)
      << "a thousand blocks of three cells of 0.2 ms do not fit into a tenth of a second";
  limited.schedule.blocks = 3;
  limited.schedule.group_time_ns = 60'000'000'000;
  EXPECT_GE(blocks_of(run(limited)).size(), 3U);
}

TEST_F(MeasureTest, TheLastCellInTheTimeIsLookedAt) {
  auto limited = plan({"fp32"});
  limited.schedule.group_time_ns = 1;
  const auto event = answer(run(limited), "fake/1000/fp32");
  EXPECT_EQ(event.at("verdict"), "measured") << event;
  EXPECT_EQ(event.at("cells_checked"), 1);
}

TEST_F(MeasureTest, ACellThatAWarmUpMadeTooShortIsMarkedAndTheNextIsLonger) {
  const auto prepared = plan({"fp32"});
  constexpr int kSlowCalls = 3;
  // The first calls are slow, as beside another process; those of the warm-up only, which take one call each.
  behaviour() = {.fault = Fault::kAct, .act = [](at::Tensor&) {
                   if (behaviour().calls < kSlowCalls)
                     std::this_thread::sleep_for(std::chrono::milliseconds(2));
                 }};
  const auto samples = named(run(prepared), "sample");
  ASSERT_FALSE(samples.empty());
  EXPECT_GT(samples.back().at("calls"), 1) << samples.back();
  const auto clock = totals_.clock_ns;
  for (const auto& sample : samples) {
    if (sample.at("time_ns").get<std::int64_t>() >= 500 * clock) continue;
    EXPECT_TRUE(sample.contains("disturbed")) << sample << ", the clock takes " << clock << " ns";
  }
}

TEST_F(MeasureTest, AStartBeforeEachSample) {
  std::string started;
  for (const auto& event : run(plan())) {
    if (event.at("event") == "trial_started") started = event.at("id");
    if (event.at("event") == "sample" || event.at("event") == "trial_finished") {
      EXPECT_EQ(event.at("id"), started);
    }
  }
}

TEST_F(MeasureTest, ABodyThatThrowsCrashesItsTrialAlone) {
  const auto prepared = plan();
  behaviour() = {.fault = Fault::kThrow, .type = at::kHalf, .from_call = 5};
  const auto events = run(prepared);
  EXPECT_EQ(answer(events, "fake/1000/cast-fp16").at("verdict"), "crashed");
  EXPECT_EQ(answer(events, "fake/1000/cast-fp16").at("reason"), "thrown on request");
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "measured");
  EXPECT_EQ(answer(events, "fake/1000/cast-bf16").at("verdict"), "measured");
}

TEST_F(MeasureTest, ACaseThatTurnsWrongIsFound) {
  const auto prepared = plan();
  behaviour() = {.fault = Fault::kWrongOutput, .type = at::kBFloat16, .from_call = 20};
  const auto events = run(prepared);
  EXPECT_GT(behaviour().calls, 20);
  EXPECT_EQ(answer(events, "fake/1000/cast-bf16").at("verdict"), "output-changed");
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "measured");
}

// One position of the output, and what the whole of it may differ by.
constexpr double kAnything = 1e9;
Json checks(double largest, double rms) {
  return {{{"output", "out"},
           {"positions", {3}},
           {"low", {-100.0}},
           {"high", {100.0}},
           {"max_difference", largest},
           {"rms_difference", rms}}};
}

TEST_F(MeasureTest, TheOutputsOfTimedCallsAreLookedAt) {
  const auto events = run(plan({"fp32", "cast-bf16"}));
  for (const char* id : {"fake/1000/fp32", "fake/1000/cast-bf16"}) {
    EXPECT_GE(answer(events, id).at("cells_checked"), 1) << "of the last cell at least";
    const auto samples = named(events, "sample");
    const auto cells = std::count_if(samples.begin(), samples.end(),
                                     [&](const Json& sample) { return sample.at("id") == id; });
    EXPECT_LE(answer(events, id).at("cells_checked"), cells);
  }
}

TEST_F(MeasureTest, ACallThatIsWrongUnderLoadAloneIsFound) {
  using Clock = std::chrono::steady_clock;
  const auto prepared = plan({"fp32"});
  Clock::time_point last_call{};
  behaviour().fault = Fault::kAct;
  // Right at rest: alone, and for the first call after a pause.
  behaviour().act = [&](at::Tensor& output) {
    if (Clock::now() - last_call < std::chrono::milliseconds(1)) output.view(-1)[3].add_(1.0);
    last_call = Clock::now();
  };
  EXPECT_EQ(answer(run(prepared), "fake/1000/fp32").at("verdict"), "output-changed");
}

TEST_F(MeasureTest, ACallThatIsWrongOnlyWithinABatchIsFound) {
  const auto prepared = plan({"fp32"});
  for (const long period : {2L, 3L}) {
    behaviour() = {.fault = Fault::kAct, .act = [period](at::Tensor& output) {
                     if (behaviour().calls % period != 1) output.view(-1)[3].add_(1.0);
                   }};
    EXPECT_EQ(answer(run(prepared), "fake/1000/fp32").at("verdict"), "output-changed") << period;
  }
}

TEST_F(MeasureTest, WithoutADigestTheWholeOutputIsCompared) {
  auto prepared = plan({"fp32"});
  auto& evidence = prepared.groups[0].trials[0].evidence;
  evidence["repeatable"] = false;
  evidence["checks"] = checks(1e-3, 1e-3);
  EXPECT_EQ(answer(run(prepared), "fake/1000/fp32").at("verdict"), "measured");

  const auto reason_of = [&](Fault fault, std::function<void(at::Tensor&)> act) {
    behaviour() = {.fault = fault, .from_call = 20, .act = std::move(act)};
    const auto event = answer(run(prepared), "fake/1000/fp32");
    EXPECT_EQ(event.at("verdict"), "output-changed") << event;
    return event.at("reason").get<std::string>();
  };
  EXPECT_NE(reason_of(Fault::kAct, [](at::Tensor& output) { output[777].add_(0.01); })
                .find("from that of the first call at position 777"),
            std::string::npos);
  EXPECT_NE(reason_of(Fault::kAct, [](at::Tensor& output) { output[999].fill_(NAN); })
                .find("has other NaN or infinities than at first, 1 of them, the first at position 999"),
            std::string::npos);

  evidence["checks"] = checks(kAnything, 1e-3);
  EXPECT_NE(reason_of(Fault::kAct, [](at::Tensor& output) { output.add_(0.01); }).find("root mean square"),
            std::string::npos);
  EXPECT_EQ(reason_of(Fault::kWriteInput, {}).rfind("tensor 'x' was written by the timed calls", 0), 0U);
}

TEST_F(MeasureTest, EvidenceWithoutAllowancesIsRefused) {
  auto prepared = plan({"fp32"});
  auto& evidence = prepared.groups[0].trials[0].evidence;
  evidence["repeatable"] = false;
  evidence["checks"] = checks(1.0, 1.0);
  evidence["checks"][0].erase("rms_difference");
  const auto event = answer(run(prepared), "fake/1000/fp32");
  EXPECT_EQ(event.at("verdict"), "refused");
  EXPECT_EQ(event.at("reason").get<std::string>().rfind("/checks of output 'out'/rms_difference", 0), 0U);
}

TEST_F(MeasureTest, AnOutputThatIsWrongAtOnceIsNotTimed) {
  const auto prepared = plan({"fp32"});
  behaviour() = {.fault = Fault::kWrongOutput};
  const auto events = run(prepared);
  EXPECT_TRUE(named(events, "sample").empty());
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("reason").get<std::string>().rfind("before anything", 0), 0U);
}

TEST_F(MeasureTest, SettingsThatTheTimedCallsLeaveAreRefused) {
  backends::apply({.threads = 2});
  const auto prepared = plan({"fp32", "cast-fp16"});
  behaviour() = {.fault = Fault::kAct, .type = at::kHalf, .from_call = 20, .act = [](at::Tensor&) {
                   at::set_num_threads(1);
                 }};
  const auto events = run(prepared);
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "measured");
  const auto changed = answer(events, "fake/1000/cast-fp16");
  EXPECT_EQ(changed.at("verdict"), "refused");
  EXPECT_EQ(changed.at("reason"), "after the timed calls, /settings/threads is 1, validated was 2");
  backends::apply({.threads = 1});
}

TEST_F(MeasureTest, ACaseThatTurnsWrongIsFoundByBounds) {
  auto prepared = plan({"fp32"});
  auto& evidence = prepared.groups[0].trials[0].evidence;
  evidence["repeatable"] = false;
  evidence["checks"] = checks(kAnything, kAnything);
  auto events = run(prepared);
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "measured");
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("output_check"), "bounds");

  evidence["checks"][0]["low"][0] = 99.0;
  events = run(prepared);
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "output-changed");
}

TEST_F(MeasureTest, ACaseThatWritesItsInputIsFound) {
  auto bounds_only = plan({"fp32"});
  auto& evidence = bounds_only.groups[0].trials[0].evidence;
  evidence["repeatable"] = false;
  evidence["checks"] = checks(kAnything, kAnything);
  behaviour() = {.fault = Fault::kWriteInput};
  const auto events = run(bounds_only);
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "output-changed");
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("reason"), "tensor 'x' was written by the timed calls");
}

TEST_F(MeasureTest, RefusalsNameTheFieldAndComeBeforeAnyCell) {
  const std::map<std::string, std::string> changes{{"/inputs/x", "0"},     {"/device/uuid", "other"},
                                                   {"/build_id", "other"}, {"/shape", "1001"},
                                                   {"/precision", "x"},    {"/seed", "2"},
                                                   {"/rules_sha256", "x"}, {"/case", "exp"}};
  for (const auto& [field, value] : changes) {
    auto altered = plan({"fp32"});
    altered.groups[0].trials[0].evidence[Json::json_pointer(field)] = value;
    const auto events = run(altered);
    EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "refused") << field;
    EXPECT_EQ(answer(events, "fake/1000/fp32").at("reason").get<std::string>().rfind(field, 0), 0U)
        << answer(events, "fake/1000/fp32");
    EXPECT_TRUE(named(events, "sample").empty());
    EXPECT_TRUE(named(events, "trial_started").empty());
  }
}

TEST_F(MeasureTest, SettingsAndVerdictKeepTheGate) {
  auto altered = plan({"fp32"});
  auto& settings = altered.groups[0].trials[0].evidence["settings"];
  settings.begin().value() = "changed";
  EXPECT_EQ(answer(run(altered), "fake/1000/fp32").at("reason").get<std::string>().rfind("/settings/", 0),
            0U);

  auto inaccurate = plan({"fp32"});
  inaccurate.groups[0].trials[0].verdict = results::Verdict::kInaccurate;
  EXPECT_EQ(answer(run(inaccurate), "fake/1000/fp32").at("verdict"), "refused");

  auto silent = plan({"fp32"});
  silent.groups[0].trials[0].verdict.reset();
  EXPECT_EQ(answer(run(silent), "fake/1000/fp32").at("verdict"), "refused");

  auto unproven = plan({"fp32"});
  unproven.groups[0].trials[0].evidence = nullptr;
  EXPECT_EQ(answer(run(unproven), "fake/1000/fp32").at("verdict"), "refused");
}

TEST_F(MeasureTest, ARefusedTrialLeavesTheOthersButABaselineTakesThemAlong) {
  auto one = plan();
  one.groups[0].trials[1].evidence["seed"] = 2;
  auto events = run(one);
  EXPECT_EQ(answer(events, "fake/1000/cast-fp16").at("verdict"), "refused");
  EXPECT_EQ(answer(events, "fake/1000/cast-bf16").at("verdict"), "measured");

  auto baseline = plan();
  baseline.groups[0].trials[0].evidence["seed"] = 2;
  events = run(baseline);
  EXPECT_TRUE(named(events, "sample").empty());
  EXPECT_EQ(named(events, "trial_finished").size(), 3U);
  const auto reason = answer(events, "fake/1000/cast-bf16").at("reason").get<std::string>();
  EXPECT_NE(reason.find("fake/1000/fp32"), std::string::npos) << reason;
  EXPECT_NE(reason.find("/seed"), std::string::npos) << reason;
}

TEST_F(MeasureTest, AnObserverInTheProcessCloses) {
  const auto prepared = plan({"fp32"});
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(nullptr));
  const auto events = run(prepared);
  at::removeCallback(handle);
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "refused");
}

TEST_F(MeasureTest, AnUnknownCaseIsRefused) {
  auto unknown = plan({"fp32"});
  unknown.groups[0].case_name = "nowhere";
  EXPECT_EQ(answer(run(unknown), "fake/1000/fp32").at("verdict"), "refused");
}

TEST_F(MeasureTest, EachCallByItselfInModesColdAndLatency) {
  for (const Mode mode : {Mode::kCold, Mode::kLatency}) {
    auto prepared = plan();
    prepared.schedule.mode = mode;
    const auto samples = named(run(prepared), "sample");
    ASSERT_GE(samples.size(), 9U);
    for (const auto& sample : samples) {
      const auto times = sample.at("call_times_ns").get<std::vector<std::int64_t>>();
      EXPECT_EQ(times.size(), sample.at("calls").get<std::size_t>());
      EXPECT_EQ(std::accumulate(times.begin(), times.end(), std::int64_t{0}), sample.at("time_ns"));
      EXPECT_LE(times.size(), mode == Mode::kCold ? 3U : 100U);
    }
  }
}

TEST_F(MeasureTest, SustainedRunsEachTrialAloneAsLongAsAsked) {
  auto prepared = plan({"fp32", "cast-bf16"});
  prepared.schedule.mode = Mode::kSustained;
  prepared.schedule.sustained_time_ns = 30'000'000;
  const auto events = run(prepared);
  std::vector<std::string> turns;
  std::map<std::string, double> timed;
  for (const auto& sample : named(events, "sample")) {
    const auto id = sample.at("id").get<std::string>();
    if (turns.empty() || turns.back() != id) turns.push_back(id);
    timed[id] += sample.at("time_ns").get<double>();
    EXPECT_TRUE(sample.contains("device"));
  }
  EXPECT_EQ(turns.size(), 2U) << "one after the other, not in turns";
  EXPECT_EQ(answer(events, "fake/1000/fp32").at("verdict"), "measured");
  EXPECT_EQ(answer(events, "fake/1000/cast-bf16").at("verdict"), "measured");
}

TEST_F(MeasureTest, DefaultMallocIsMeasuredOnTheSameEvidence) {
  auto prepared = plan({"fp32"});
  auto& evidence = prepared.groups[0].trials[0].evidence;
  evidence["settings"]["mmap_threshold_bytes"] = "1073741824";
  evidence["settings"]["transparent_huge_pages"] = "off in this process";
  EXPECT_EQ(answer(run(prepared), "fake/1000/fp32").at("verdict"), "refused");
  prepared.schedule.mode = Mode::kDefaultMalloc;
  EXPECT_EQ(answer(run(prepared), "fake/1000/fp32").at("verdict"), "measured");
}

}  // namespace
}  // namespace ampgate::bench
