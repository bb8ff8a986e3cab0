#include "results/overhead.h"

#include <gtest/gtest.h>

#include "results/measurement.h"
#include "results/samples.h"

namespace ampgate::results {
namespace {

constexpr const char* kId = "exp/1000/autocast-fp16";

// Three processes, each with five samples around these values.
RunData run_with(double call_ns, double dispatch_ns, const Json& more = Json::object()) {
  RunData run;
  for (int process = 0; process < 3; ++process) {
    Json overhead{{"call_ns", Json::array()}, {"dispatch_ns", Json::array()}};
    for (int i = -2; i <= 2; ++i) {
      overhead["call_ns"].push_back(call_ns + i + process);
      overhead["dispatch_ns"].push_back(dispatch_ns + i + process);
    }
    overhead.update(more);
    run.bench.push_back({{"process", process},
                         {"samples", Json::object()},
                         {"trials", {{kId, {{"verdict", "measured"}, {"overhead", overhead}}}}}});
  }
  return run;
}

Estimate time_of(double ns) {
  Estimate time;
  time.value = ns;
  return time;
}

Json overhead_of(const RunData& run, double time_ns, int dispatches) {
  Json measurement{{"audit", {{"dispatches", dispatches}}}, {"absent", Json::object()}};
  add_overhead(measurement, run, kId, time_of(time_ns), 0.95);
  return measurement;
}

TEST(Overhead, IsTheMedianOverProcessesWithItsInterval) {
  const Json overhead = overhead_of(run_with(1000, 400), 1e6, 3).at("overhead");
  EXPECT_DOUBLE_EQ(overhead.at("call_ns").at("median").get<double>(), 1001);
  EXPECT_DOUBLE_EQ(overhead.at("dispatch_ns").at("median").get<double>(), 401);
  EXPECT_EQ(overhead.at("call_ns").at("samples"), 15);
  EXPECT_EQ(overhead.at("call_ns").at("processes"), 3);
  EXPECT_LE(overhead.at("call_ns").at("interval")[0].get<double>(), 1001);
  EXPECT_GE(overhead.at("call_ns").at("interval")[1].get<double>(), 1001);
}

TEST(Overhead, SaysDispatchBoundFromHalfOfTheTimeOn) {
  // The scope 600, three operators at 401.
  const RunData run = run_with(1000, 400);
  const double cost = 600 + 3 * 401;
  const Json bound = overhead_of(run, 2 * cost - 2, 3).at("overhead");
  EXPECT_NEAR(bound.at("share").get<double>(), 0.5, 1e-3);
  EXPECT_EQ(bound.at("in_words").get<std::string>().rfind("dispatch-bound: 3 operators", 0), 0U) << bound;
  const Json free = overhead_of(run, 2 * cost + 2, 3).at("overhead");
  EXPECT_FALSE(free.contains("in_words")) << free;
}

TEST(Overhead, SaysLaunchBoundWhereTheHostTakesAsLongAsTheDevice) {
  const auto launch = [](double host, double device) {
    return overhead_of(run_with(1000, 400,
                                {{"host_ns", {host, host + 1, host + 2}},
                                 {"device_ns", {device, device + 1, device + 2}}}),
                       1e6, 1)
        .at("overhead");
  };
  EXPECT_EQ(launch(9500, 10000).at("launch_in_words").get<std::string>().rfind("launch-bound", 0), 0U);
  EXPECT_FALSE(launch(5000, 10000).contains("launch_in_words"));
  EXPECT_EQ(launch(5000, 10000).at("host_ns").at("median"), 5001);
}

TEST(Overhead, WhatNobodySaidIsAbsentWithTheReason) {
  RunData silent;
  EXPECT_TRUE(overhead_of(silent, 1e6, 1).at("absent").contains("overhead"));
  Json measurement{{"absent", Json::object()}};
  add_overhead(measurement, run_with(1000, 400), kId, time_of(1e6), 0.95);
  EXPECT_FALSE(measurement.at("overhead").contains("share"));
  EXPECT_TRUE(measurement.at("overhead").at("absent").contains("share")) << "nobody counted its operators";
}

TEST(Casts, AreAShareWithItsSamples) {
  Json measurement{{"absent", Json::object()}};
  add_casts(measurement, kId, {{"casts", {{"count", 2}, {"shares", {0.2, 0.3, 0.25}}}}}, 0.95);
  EXPECT_EQ(measurement.at("casts").at("count"), 2);
  EXPECT_DOUBLE_EQ(measurement.at("casts").at("share").at("value").get<double>(), 0.25);
  EXPECT_EQ(measurement.at("casts").at("share").at("samples"), 3);

  add_casts(measurement, kId, {{"casts", {{"count", 0}, {"shares", {0.0, 0.0, 0.0}}}}}, 0.95);
  EXPECT_EQ(measurement.at("casts").at("share").at("value"), 0.0);

  Json none{{"absent", Json::object()}};
  add_casts(none, kId, Json::object(), 0.95);
  EXPECT_EQ(none.at("absent").at("casts"), "the inspecting process gave no answer for this trial");
  add_casts(none, "exp/1000/cast-fp16", Json::object(), 0.95);
  EXPECT_EQ(none.at("absent").at("casts"), "this precision has no autocast");
}

TEST(Inspection, WithoutAFinishedOneThereIsNoNumber) {
  RunData run = run_with(1000, 400);
  EXPECT_EQ(measurement_verdict(run, kId, kWarm).at("verdict"), "measured");
  run.inspect = {{kId, {{"verdict", "crashed"}, {"reason", "SIGSEGV"}}}};
  EXPECT_EQ(measurement_verdict(run, kId, kWarm).at("verdict"), "crashed");
  EXPECT_EQ(measurement_verdict(run, kId, kWarm).at("reason"), "in the audit: SIGSEGV");
  run.inspect = {{kId, {{"verdict", "refused"}, {"reason", "reads a value"}}}};
  EXPECT_EQ(measurement_verdict(run, kId, kWarm).at("reason"), "reads a value");
  EXPECT_TRUE(measurement_verdict(run, kId, "cold").is_null()) << "nothing was asked in this mode";
}

}  // namespace
}  // namespace ampgate::results
