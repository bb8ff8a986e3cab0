#include "results/roofline.h"

#include <gtest/gtest.h>

#include "results/ceilings.h"
#include "results/samples.h"
#include "results/sustained.h"

namespace ampgate::results {
namespace {

// 2 GB/s of copying, 4 TFLOP/s in FP16 and 1 in FP32, caches of 1000 bytes; peaks twice as high.
Json device() {
  const Json one = {{"bytes", 1000}, {"times_ns", {500, 500, 500, 500, 500, 500}}};
  const auto product = [](double flops) {
    return Json{{"size", 10}, {"flops", flops}, {"times_ns", {1000, 1000, 1000, 1000, 1000, 1000}}};
  };
  const Json measured = {{"memory",
                          {{"last_level_cache_bytes", 1000},
                           {"buffer_bytes", 4000},
                           {"read", one},
                           {"write", one},
                           {"copy", one}}},
                         {"matmul", {{"fp32", product(1e6)}, {"fp16", product(4e6)}}},
                         {"peaks",
                          {{"flops_per_s", {{"fp32", 2e12}, {"fp16", 8e12}}},
                           {"memory_bytes_per_s", 4e9},
                           {"source", "a data sheet"}}}};
  return ceilings(measured, 0.95);
}

Estimate time_of(double ns) {
  Estimate time;
  time.value = ns;
  time.interval = Interval{ns / 2, ns * 2};
  return time;
}

TEST(Ceilings, AreRatesOfTheMedian) {
  const Json reached = device();
  EXPECT_DOUBLE_EQ(reached.at("copy_gbps").at("value"), 2.0);
  EXPECT_DOUBLE_EQ(reached.at("matmul_tflops").at("fp32").at("value"), 1.0);
  EXPECT_EQ(reached.at("copy_gbps").at("samples"), 6);
  EXPECT_DOUBLE_EQ(reached.at("peak").at("tflops").at("fp16"), 8.0);
  EXPECT_DOUBLE_EQ(reached.at("peak").at("gbps"), 4.0);
  EXPECT_TRUE(ceilings(nullptr, 0.95).is_null());
}

TEST(Ceilings, FormatsOfPrecisions) {
  EXPECT_EQ(format_of("fp32", false), "fp32");
  EXPECT_EQ(format_of("tf32", false), "tf32");
  EXPECT_EQ(format_of("autocast-fp16", false), "fp16");
  EXPECT_EQ(format_of("islands-bf16", false), "bf16");
  EXPECT_EQ(format_of("autocast-fp16", true), "fp32");
}

TEST(Roofline, NearerRoofAndShares) {
  Json measurement = Json::object();
  // 1e6 operations at 4 TFLOP/s are 250 ns; 4000 bytes at 2 GB/s are 2000 ns.
  add_roofline(measurement, {1e6, 4000, "fp16", false}, time_of(4000), device());
  EXPECT_DOUBLE_EQ(measurement.at("tflops").at("value"), 0.25);
  EXPECT_DOUBLE_EQ(measurement.at("tflops").at("share_of_ceiling"), 0.0625);
  EXPECT_DOUBLE_EQ(measurement.at("gbps").at("share_of_ceiling"), 0.5);
  EXPECT_EQ(measurement.at("roofline").at("bound_by"), "memory");
  EXPECT_DOUBLE_EQ(measurement.at("roofline").at("share"), 0.5);
  EXPECT_DOUBLE_EQ(measurement.at("roofline").at("flops_per_byte"), 250.0);
  EXPECT_FALSE(measurement.at("roofline").at("in_cache"));

  Json in_cache = Json::object();
  add_roofline(in_cache, {1e8, 400, "fp32", false}, time_of(2e5), device());
  EXPECT_EQ(in_cache.at("roofline").at("bound_by"), "compute");
  EXPECT_DOUBLE_EQ(in_cache.at("roofline").at("share"), 0.5);
  EXPECT_TRUE(in_cache.at("roofline").at("in_cache"));
}

TEST(Roofline, WhatIsNotKnownIsAbsent) {
  Json measurement = Json::object();
  add_roofline(measurement, {0, 0, "fp32", false}, time_of(10), nullptr);
  EXPECT_FALSE(measurement.contains("tflops"));
  EXPECT_FALSE(measurement.contains("gbps"));
  EXPECT_EQ(measurement.at("absent").size(), 3U);
}

TEST(Roofline, BeyondThePeakIsImpossible) {
  // 1e10 operations in 1e6 ns are 10 TFLOP/s.
  EXPECT_NE(impossible({1e10, 400, "fp16", false}, time_of(1e6), device()).find("10 TFLOP/s is above"),
            std::string::npos);
  EXPECT_EQ(impossible({7e9, 400, "fp16", false}, time_of(1e6), device()), "");
  EXPECT_NE(impossible({7e9, 400, "fp32", false}, time_of(1e6), device()), "")
      << "its own format's peak counts";
  EXPECT_EQ(impossible({7e9, 400, "bf16", false}, time_of(1e6), device()), "") << "no peak of BF16 is known";
  // 900 bytes in 100 ns are 9 GB/s: from caches they may come, from memory they cannot.
  EXPECT_EQ(impossible({0, 900, "fp32", false}, time_of(100), device()), "");
  EXPECT_NE(impossible({0, 900, "fp32", true}, time_of(100), device()).find("of this device's memory"),
            std::string::npos);
  EXPECT_NE(impossible({0, 9000, "fp32", false}, time_of(1000), device()), "");
}

TEST(Sustained, TheSecondHalfOfTheTimeIsSteady) {
  std::vector<Row> rows;
  for (int i = 0; i < 20; ++i) {
    Row row;
    row.block = i;
    row.calls = 10;
    row.time_ns = i < 2 ? 1000 : 1100;
    rows.push_back(row);
  }
  const auto settled = steady(rows);
  EXPECT_EQ(settled.size(), 9U);
  EXPECT_EQ(settled.front().block, 11);
  const Json json = sustained(rows, {{"energy_j", 2.0}, {"energy_calls", 400}});
  EXPECT_DOUBLE_EQ(json.at("steady_to_first"), 1.1);
  EXPECT_DOUBLE_EQ(json.at("energy_per_call_j"), 0.005);
  EXPECT_EQ(json.at("absent").size(), 3U) << "clock, power and temperature were not told";
}

}  // namespace
}  // namespace ampgate::results
