#include "bench/plan.h"

#include <gtest/gtest.h>

#include "results/error.h"

namespace ampgate::bench {
namespace {

using results::Json;

Json document() {
  return Json::parse(
      R"({"ampgate_plan": 1, "phase": "bench", "run_id": "r", "build_id": "b", "device": "cpu", "seed": 1,
    "process": 2, "rules": {}, "rules_sha256": "s", "settings": {"threads": 2, "affinity": [0, 1], "mmap_threshold_bytes": 5},
    "bench": {"blocks": 7, "cell_time_ns": 15000000, "order_seed": 11, "first_block": 14},
    "trials": [
      {"id": "exp/8/fp32", "case": "exp", "shape": [8], "precision": "fp32", "verdict": "pass", "evidence": {"seed": 1}},
      {"id": "exp/8/cast-fp16", "case": "exp", "shape": [8], "precision": "cast-fp16", "verdict": "suspect"},
      {"id": "exp/9/fp32", "case": "exp", "shape": [9], "precision": "fp32"}]})");
}

TEST(BenchPlan, GroupsTrialsOfOneCaseAndShape) {
  const Plan plan = parse_plan(document());
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_EQ(plan.groups[0].trials.size(), 2U);
  EXPECT_EQ(plan.groups[1].sizes, std::vector<std::int64_t>{9});
  EXPECT_EQ(plan.groups[0].trials[1].verdict, results::Verdict::kSuspect);
  EXPECT_FALSE(plan.groups[1].trials[0].verdict.has_value());
  EXPECT_EQ(plan.process, 2);
  EXPECT_EQ(plan.schedule.first_block, 14);
  EXPECT_EQ(plan.settings.mmap_threshold_bytes, 5);
  EXPECT_FALSE(plan.settings.trim_threshold_bytes.has_value());
}

TEST(BenchPlan, RefusesWhatItCannotRun) {
  const auto refuses = [](const char* pointer, const Json& value) {
    Json altered = document();
    altered[Json::json_pointer(pointer)] = value;
    EXPECT_THROW(parse_plan(altered), results::Error) << pointer;
  };
  refuses("/phase", "validate");
  refuses("/bench/blocks", 0);
  refuses("/bench/cell_time_ns", "long");
  refuses("/trials/0/precision", "fp8");
  refuses("/trials/0/verdict", "fine");
  refuses("/rules", Json{{"unknown", 1}});
  Json incomplete = document();
  incomplete.erase("bench");
  EXPECT_THROW(parse_plan(incomplete), results::Error);
}

}  // namespace
}  // namespace ampgate::bench
