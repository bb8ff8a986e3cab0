#include "results/relaxed_rules.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ampgate::results {
namespace {

Json relaxed(const std::string& before, const std::string& now) {
  return relaxed_rules(parse_rules(before, "before"), parse_rules(now, "now"));
}

// The only relaxation, as text; "none", or how many there are.
std::string only(const std::string& before, const std::string& now) {
  const Json list = relaxed(before, now);
  if (list.empty()) return "none";
  return list.size() == 1 ? list[0].dump() : std::to_string(list.size());
}

// Pointers to all values that are no objects, and to the objects that hold entries by case.
void leaves(const Json& value, const Json::json_pointer& here, std::vector<std::string>& found) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items()) leaves(member, here / key, found);
  } else {
    found.push_back(here.to_string());
  }
}

TEST(RelaxedRules, EveryRuleHasADirection) {
  std::vector<std::string> rules, known;
  leaves(to_json(Rules{}), Json::json_pointer(), rules);
  for (const auto& [rule, direction] : directions()) known.push_back(rule);
  EXPECT_EQ(rules, known);
}

TEST(RelaxedRules, OnlyWhatAcceptsMore) {
  EXPECT_EQ(only("{}", "{}"), "none");
  EXPECT_EQ(only("{}", R"({"bounds":{"lambda":8}})"), R"({"rule":"/bounds/lambda","before":4.0,"now":8.0})");
  EXPECT_EQ(only(R"({"bounds":{"lambda":8}})", "{}"), "none");
  EXPECT_EQ(only("{}", R"({"bounds":{"ill_conditioned":0.25}})"),
            R"({"rule":"/bounds/ill_conditioned","before":0.5,"now":0.25})");
  EXPECT_EQ(only(R"({"suspect_opens_gate":false})", "{}"),
            R"({"rule":"/suspect_opens_gate","before":false,"now":true})");
  EXPECT_EQ(only("{}", R"({"suspect_opens_gate":false})"), "none");
  EXPECT_EQ(only("{}", R"({"unsupported_fails":false})"),
            R"({"rule":"/unsupported_fails","before":true,"now":false})");
  EXPECT_EQ(only("{}", R"({"decisions":{"tie_rule":"reject","ordinary":{"defect":0.01}}})"),
            R"({"rule":"/decisions/ordinary/defect","before":0.0,"now":0.01})");
  EXPECT_EQ(only("{}", R"({"bounds":{"c":5,"lambda":5},"name":"other"})"), "2");
}

TEST(RelaxedRules, RequiredPrecisionsCountNotTheirPatterns) {
  EXPECT_EQ(only("{}", R"({"required":["fp32","*cast-*"]})"), "none");
  EXPECT_EQ(only("{}", R"({"required":["*"]})"), "none");
  EXPECT_EQ(only(R"({"required":["fp32","cast-fp16"]})", R"({"required":["fp32"]})"),
            R"({"rule":"/required","before":["fp32","cast-fp16"],"now":["fp32"]})");
}

TEST(RelaxedRules, LimitsByCase) {
  EXPECT_EQ(only(R"({"minimum_accuracy":{"a":0.9}})", "{}"),
            R"({"rule":"/minimum_accuracy/a","before":0.9})");
  EXPECT_EQ(only(R"({"minimum_accuracy":{"a":0.9}})", R"({"minimum_accuracy":{"a":0.8}})"),
            R"({"rule":"/minimum_accuracy/a","before":0.9,"now":0.8})");
  EXPECT_EQ(only("{}", R"({"minimum_accuracy":{"a":0.9}})"), "none");
  EXPECT_EQ(only(R"({"maximum_rmse":{"a":1}})", R"({"maximum_rmse":{"a":2}})"),
            R"({"rule":"/maximum_rmse/a","before":1.0,"now":2.0})");
  EXPECT_EQ(only(R"({"maximum_rmse":{"a":1}})", R"({"maximum_rmse":{"a":0.5}})"), "none");
}

TEST(RelaxedRules, Outputs) {
  const std::string strict = R"({"outputs":{"a/x":{"max_margin":0.5,"max_abs_error":1}}})";
  EXPECT_EQ(only("{}", strict), "none");
  EXPECT_EQ(relaxed(strict, "{}").dump(), R"([{"rule":"/outputs/a~1x/max_margin","before":0.5},)"
                                          R"({"rule":"/outputs/a~1x/max_abs_error","before":1.0}])");
  EXPECT_EQ(only("{}", R"({"outputs":{"a":{"max_margin":2}}})"),
            R"({"rule":"/outputs/a/max_margin","now":2.0})");
  EXPECT_EQ(only(strict, R"({"outputs":{"a/x":{"ignore":"scratch"}}})"),
            R"({"rule":"/outputs/a~1x/ignore","now":"scratch"})");
  // An output's own rule takes the place of its case's, and with it the limits that it does not repeat.
  EXPECT_EQ(only(R"({"outputs":{"a":{"max_abs_error":1}}})",
                 R"({"outputs":{"a":{"max_abs_error":1},"a/x":{"max_margin":0.5}}})"),
            R"({"rule":"/outputs/a~1x/max_abs_error","before":1.0})");
}

}  // namespace
}  // namespace ampgate::results
