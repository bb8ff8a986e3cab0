#include "bench/output_check.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>

#include "backends/digest.h"
#include "fake_case.h"

namespace ampgate::bench {
namespace {

using results::Json;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string check_bounds(double value, const Json& low, const Json& high) {
  const cases::Outputs outputs{at::tensor({0.0F, static_cast<float>(value), 0.0F})};
  const Json evidence = {
      {"repeatable", false},
      {"checks", {{{"output", "out"}, {"positions", {1}}, {"low", {low}}, {"high", {high}}}}}};
  return changed_output(testing::fake_case(), outputs, evidence);
}

TEST(OutputBounds, LimitsBelongToThem) {
  EXPECT_EQ(check_bounds(1.0, 1.0, 2.0), "");
  EXPECT_EQ(check_bounds(2.0, 1.0, 2.0), "");
  EXPECT_EQ(check_bounds(2.5, 1.0, 2.0), "output 'out' is 2.5 at position 1, validated from 1.0 to 2.0");
  EXPECT_NE(check_bounds(0.5, 1.0, 2.0), "");
}

TEST(OutputBounds, InfinitiesMustBeWhereTheyWere) {
  EXPECT_EQ(check_bounds(kInf, "inf", "inf"), "");
  EXPECT_EQ(check_bounds(kInf, 65000.0, "inf"), "");
  EXPECT_EQ(check_bounds(-kInf, "-inf", "-inf"), "");
  EXPECT_NE(check_bounds(3.0, "inf", "inf"), "");
  EXPECT_NE(check_bounds(kInf, "-inf", "-inf"), "");
  EXPECT_NE(check_bounds(kInf, 1.0, 2.0), "");
}

TEST(OutputBounds, NanOnlyWhereBothLimitsAreNan) {
  EXPECT_EQ(check_bounds(kNan, "nan", "nan"), "");
  EXPECT_NE(check_bounds(1.0, "nan", "nan"), "");
  EXPECT_NE(check_bounds(kNan, 1.0, 2.0), "");
  EXPECT_NE(check_bounds(kNan, "-inf", "inf"), "");
  EXPECT_NE(check_bounds(1.0, "nan", 2.0), "");
}

TEST(OutputBounds, PositionsAreLogicalAndChecked) {
  const at::Tensor transposed = at::arange(6, at::kFloat).view({2, 3}).t();  // logical order 0 3 1 4 2 5
  Json evidence = {{"repeatable", false},
                   {"checks", {{{"output", "out"}, {"positions", {1}}, {"low", {3.0}}, {"high", {3.0}}}}}};
  EXPECT_EQ(changed_output(testing::fake_case(), {transposed}, evidence), "");
  evidence["checks"][0]["positions"][0] = 6;
  EXPECT_EQ(changed_output(testing::fake_case(), {transposed}, evidence), "output 'out' has no position 6");
}

TEST(OutputDigest, AnyBitCounts) {
  const at::Tensor validated = at::ones({100}, at::kHalf);
  const Json evidence = {{"repeatable", true}, {"outputs", {{"out", backends::digest(validated)}}}};
  EXPECT_EQ(changed_output(testing::fake_case(), {validated}, evidence), "");
  at::Tensor changed = validated.clone();
  changed[99] = 1.001;
  const std::string problem = changed_output(testing::fake_case(), {changed}, evidence);
  EXPECT_NE(problem.find("'out'"), std::string::npos);
  EXPECT_NE(problem.find(backends::digest(changed)), std::string::npos);
}

TEST(OutputCheck, EvidenceMustHaveSomethingToCheckWith) {
  EXPECT_EQ(missing_outputs(testing::fake_case(), {{"repeatable", true}, {"outputs", {{"out", "x"}}}}), "");
  EXPECT_EQ(missing_outputs(testing::fake_case(), {{"repeatable", true}, {"outputs", {{"other", "x"}}}}),
            "/outputs/out");
  EXPECT_EQ(missing_outputs(testing::fake_case(), Json::object()), "/checks of output 'out'");
  Json check{{"output", "out"}, {"positions", {1}}, {"low", {0.0}}, {"high", {1.0}}, {"rms_difference", 1.0}};
  EXPECT_EQ(missing_outputs(testing::fake_case(), {{"checks", {check}}}),
            "/checks of output 'out'/max_difference");
  check["max_difference"] = "inf";
  EXPECT_EQ(missing_outputs(testing::fake_case(), {{"checks", {check}}}), "");
}

TEST(StateCheck, NamesTheTensorThatWasWritten) {
  cases::State state{{{"x", at::ones({10})}, {"weight", at::ones({10}), cases::Role::kWeight}}};
  const auto before = state_digests(state);
  EXPECT_EQ(changed_tensor(state, before), "");
  state.tensors[1].tensor[9] = 2.0;
  EXPECT_EQ(changed_tensor(state, before), "weight");
}

}  // namespace
}  // namespace ampgate::bench
