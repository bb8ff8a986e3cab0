#include "results/rules.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "results/record.h"
#include "results/sha256.h"
#include "tests/results/error_of.h"

namespace ampgate::results {
namespace {

std::string problem(const std::string& text) {
  return error_of([&] { parse_rules(text, "r.json"); });
}

// The problem is found at this pointer, and its text holds these words.
void expect_problem(const std::string& text, const std::string& pointer, const std::string& words) {
  const std::string message = problem(text);
  EXPECT_TRUE(message.starts_with("r.json#" + pointer + ": ")) << text << " gave '" << message << "'";
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

TEST(Rules, TheDefaultFileHoldsTheDefaults) {
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "../../results/rules/default.json");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text, to_text(to_json(Rules{}), 2) + "\n");
  EXPECT_EQ(to_json(parse_rules(text, "default.json")), to_json(Rules{}));
}

TEST(Rules, AbsentKeysKeepTheirDefaults) { EXPECT_EQ(to_json(parse_rules("{}", "r")), to_json(Rules{})); }

TEST(Rules, EveryKeyIsReadBack) {
  const std::string text =
      R"({"ampgate_rules":1,"name":"mine","required":["fp32"],"unsupported_fails":false,"suspect_opens_gate":false,)"
      R"("bounds":{"lambda":5.0,"c":6.0,"ill_conditioned":0.25,"error_ratio":3.0,"model_ratio":4.0,"replay_runs":20,)"
      R"("flip_deviations":6.0},"decisions":{"tie_rule":"reject","ordinary":{"flips":0.5,"explained":0.4,"tie_collapse":0.3,"defect":0.25},)"
      R"("boundary":{"flips":0.9,"explained":0.8,"tie_collapse":0.7,"defect":0.1}},)"
      R"("minimum_accuracy":{"digits_classifier":0.9},"maximum_rmse":{"mlp_regressor":0.1},)"
      R"("maximum_accuracy_loss":0.01,"maximum_rmse_ratio":1.5,)"
      R"("outputs":{"net":{"ignore":"scratch"},"net/scores":{"max_margin":0.5,"max_relative_rms":0.01,"max_abs_error":0.1}},)"
      R"("repeats":29,"trial_limit_s":60.0,"validation_limit_s":3600.0,)"
      R"("measurement":{"processes":5,"min_blocks":40,"cell_time_ms":20.0,"interval_level":0.99,"tolerance":0.02,"sustained_s":60.0},)"
      R"("training":{"updates":50,"seeds":4,"shadow_steps":2,"max_skipped_share":0.5,"max_consecutive_skips":3,)"
      R"("max_steps_to_first_update":5,"min_scale":1.0,"max_gradient_error":0.2,"max_zeroed_share":0.1,)"
      R"("max_accuracy_loss":0.02,"max_rmse_ratio":1.25},)"
      R"("targets":{"NVIDIA H100*":{"matmul/*":{"min_tflops":400.0,"min_gbps":1.0,"min_speedup_over_fp32":1.5}}},)"
      R"("golden":{"NVIDIA*":"20261130T053500Z-31f2078e"}})";
  EXPECT_EQ(to_json(parse_rules(text, "r")).dump(), text);
}

TEST(Rules, UnknownKeysNameTheNearest) {
  expect_problem(R"({"bounds":{"lamda":3}})", "/bounds/lamda", "did you mean lambda?");
  expect_problem(R"({"suspect_open_gate":true})", "/suspect_open_gate", "did you mean suspect_opens_gate?");
  expect_problem(R"({"zzzzzzzzz":true})", "/zzzzzzzzz", "known here: ampgate_rules, name");
  EXPECT_NE(problem(R"({"name":"a","name":"b"})").find("duplicate key \"name\""), std::string::npos);
}

TEST(Rules, WrongTypes) {
  expect_problem("[]", "", "must be an object");
  expect_problem(R"({"bounds":3})", "/bounds", "must be an object, is number 3");
  expect_problem(R"({"bounds":{"c":"4"}})", "/bounds/c", "must be a number, is string \"4\"");
  expect_problem(R"({"bounds":{"c":"inf"}})", "/bounds/c", "must be a number");
  expect_problem(R"({"bounds":{"replay_runs":2.5}})", "/bounds/replay_runs", "must be an integer");
  expect_problem(R"({"unsupported_fails":0})", "/unsupported_fails", "must be true or false");
  expect_problem(R"({"name":null})", "/name", "must be a string");
  expect_problem(R"({"required":["fp32",1]})", "/required", "array of strings");
}

TEST(Rules, ValuesOutOfRange) {
  expect_problem(R"({"bounds":{"lambda":0}})", "/bounds/lambda", "must lie between");
  expect_problem(R"({"bounds":{"lambda":-4}})", "/bounds/lambda", "is -4");
  expect_problem(R"({"trial_limit_s":0})", "/trial_limit_s", "must lie between");
  expect_problem(R"({"decisions":{"ordinary":{"flips":1.5}}})", "/decisions/ordinary/flips",
                 "between 0 and 1");
  expect_problem(R"({"decisions":{"boundary":{"explained":-0.1}}})", "/decisions/boundary/explained",
                 "between 0 and 1");
  expect_problem(R"({"decisions":{"tie_rule":"first"}})", "/decisions/tie_rule", "lowest-index");
  expect_problem(R"({"outputs":{"a/b":{"max_margin":0}}})", "/outputs/a~1b/max_margin", "must lie between");
  expect_problem(R"({"outputs":{"a":{"max_abs_error":-1}}})", "/outputs/a/max_abs_error", "is -1");
  expect_problem(R"({"outputs":{"a":{"max_relative_rms":"nan"}}})", "/outputs/a/max_relative_rms",
                 "must be a number");
  expect_problem(R"({"outputs":{"a":{}}})", "/outputs/a", "holds no criterion");
  expect_problem(R"({"outputs":{"a":{"ignore":" "}}})", "/outputs/a/ignore", "needs the reason");
  expect_problem(R"({"validation_limit_s":0})", "/validation_limit_s", "must lie between");
  expect_problem(R"({"measurement":{"interval_level":1}})", "/measurement/interval_level",
                 "must lie between");
  expect_problem(R"({"measurement":{"min_blocks":5}})", "/measurement/min_blocks", "between 6 and");
  expect_problem(R"({"measurement":{"processes":18446744073709551615}})", "/measurement/processes",
                 "must lie between");
  expect_problem(R"({"minimum_accuracy":{"a":1.01}})", "/minimum_accuracy/a", "between 0 and 1");
  expect_problem(R"({"maximum_rmse_ratio":0.9})", "/maximum_rmse_ratio", "must lie between 1 and");
}

TEST(Rules, ContradictionsAndOtherVersions) {
  for (const std::string input : {"ordinary", "boundary"}) {
    for (const std::string kind : {"explained", "tie_collapse", "defect"}) {
      const auto with = [&](const std::string& limit) {
        return R"({"decisions":{")" + input + R"(":{"flips":0.1,")" + kind + "\":" + limit + "}}}";
      };
      expect_problem(with("0.2"), "/decisions/" + input + "/" + kind, "contradicts flips");
      EXPECT_EQ(problem(with("0.1")), "");
    }
  }
  expect_problem(R"({"outputs":{"a":{"ignore":"why","max_margin":1}}})", "/outputs/a/ignore", "contradicts");
  expect_problem(R"({"measurement":{"processes":21}})", "/measurement/min_blocks", "contradicts processes");
  expect_problem(R"({"trial_limit_s":0.01})", "/trial_limit_s", "cell_time_ms");
  expect_problem(R"({"measurement":{"cell_time_ms":120000}})", "/trial_limit_s", "cell_time_ms");
  expect_problem(R"({"required":["fp32","FP16"]})", "/required", "'FP16'");
  expect_problem(R"({"required":["fp32","fp32"]})", "/required", "twice");
  expect_problem(R"({"ampgate_rules":2})", "/ampgate_rules", "newer");
}

TEST(Rules, KindsOfFlipsThatAFileDoesNotNameAreWithinFlips) {
  const Rules rules = parse_rules(R"({"decisions":{"ordinary":{"flips":0.01}}})", "r");
  EXPECT_EQ(rules.decisions.ordinary.explained, 0.01);
  EXPECT_EQ(rules.decisions.ordinary.tie_collapse, 0.01);
  EXPECT_EQ(rules.decisions.ordinary.defect, 0.0);
  EXPECT_EQ(rules.decisions.boundary.explained, 1.0);
  // As journals and records hold them, with every key.
  EXPECT_EQ(to_json(parse_rules(to_json(rules).dump(), "record")), to_json(rules));
}

TEST(Rules, RequiredNamesPrecisions) {
  expect_problem(R"({"required":[]})", "/required", "is empty");
  expect_problem(R"({"required":["fp32","autocast-fp8"]})", "/required",
                 "'autocast-fp8' matches no precision; did you mean autocast-fp16");
  expect_problem(R"({"required":["quantized-*"]})", "/required", "known here: fp32, tf32");
  expect_problem(R"({"required":[""]})", "/required", "matches no precision");
  for (const char* precision : {"fp32", "tf32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16",
                                "islands-fp16", "islands-bf16", "islands-*", "*"}) {
    EXPECT_EQ(problem(std::string(R"({"required":[")") + precision + "\"]}"), "");
  }
}

TEST(Rules, PatternsOfRequired) {
  const Rules rules;
  EXPECT_TRUE(is_required(rules, "fp32"));
  EXPECT_TRUE(is_required(rules, "autocast-bf16"));
  EXPECT_TRUE(is_required(rules, "cast-fp16"));
  EXPECT_FALSE(is_required(rules, "tf32"));
  EXPECT_FALSE(is_required(rules, "islands-fp16"));
  EXPECT_FALSE(is_required(rules, "fp32x"));
  Rules middle;
  middle.required = {"*cast*16"};
  EXPECT_TRUE(is_required(middle, "autocast-bf16"));
  EXPECT_FALSE(is_required(middle, "autocast-bf16x"));
  middle.required = {};
  EXPECT_FALSE(is_required(middle, "fp32"));
}

TEST(Rules, AnOutputsOwnRuleTakesThePlaceOfItsCases) {
  const Rules rules =
      parse_rules(R"({"outputs":{"net":{"max_abs_error":1},"net/aux.0":{"max_margin":0.5}}})", "r");
  EXPECT_EQ(output_rule(rules, "net", "scores")->max_abs_error, 1.0);
  EXPECT_FALSE(output_rule(rules, "net", "aux.0")->max_abs_error.has_value());
  EXPECT_EQ(output_rule(rules, "net", "aux.0")->max_margin, 0.5);
  EXPECT_EQ(output_rule(rules, "other", "scores"), nullptr);
}

TEST(Rules, TheDigestIgnoresLayoutButNoValue) {
  const Rules rules;
  EXPECT_EQ(rules_digest(parse_rules("{ \"trial_limit_s\" : 1.2e2 }", "r")), rules_digest(rules));
  Json without = to_json(rules);
  without.erase("golden");
  EXPECT_EQ(rules_digest(rules), sha256_hex(without.dump()));
  Rules other;
  other.bounds.lambda = 4.5;
  EXPECT_NE(rules_digest(other), rules_digest(rules));
}

// A golden record is made under rules that cannot name it yet.
TEST(Rules, GoldenRecordsAreNoPartOfTheDigest) {
  const Rules rules = parse_rules(R"({"golden": {"AMD*": "a", "AMD EPYC*": "b", "*": "c"}})", "r");
  EXPECT_EQ(rules_digest(rules), rules_digest(Rules()));
  EXPECT_EQ(golden_record(rules, "AMD EPYC (family 26, model 2)"), "b");
  EXPECT_EQ(golden_record(rules, "AMD Ryzen"), "a");
  EXPECT_EQ(golden_record(rules, "NVIDIA H100"), "c");
  EXPECT_EQ(golden_record(Rules(), "NVIDIA H100"), "");
  expect_problem(R"({"golden": {"AMD*": ""}})", "/golden/AMD*", "must be the id of a record");
}

}  // namespace
}  // namespace ampgate::results
