// Errors of predictions, from values worked out by hand.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "validate/regression.h"

namespace ampgate::validate {
namespace {

using results::Verdict;

TEST(Regression, ErrorsAndExtremes) {
  const auto error = regression_error(at::tensor({1.0F, 3.0F, -2.0F}), at::tensor({0.0F, 0.0F, 0.0F}));
  EXPECT_EQ(error.rows, 3);
  EXPECT_DOUBLE_EQ(error.rmse, std::sqrt(14.0 / 3.0));
  EXPECT_EQ(error.max_abs_error, 3.0);
  EXPECT_EQ(error.p99_abs_error, 3.0);  // of so few the largest
  EXPECT_DOUBLE_EQ(error.mean_signed_error, 2.0 / 3.0);
  const auto many = regression_error(at::arange(1000, at::kDouble), at::zeros({1000}));
  EXPECT_EQ(many.p99_abs_error, 989.0);  // the 990th of 0 to 999
  EXPECT_EQ(many.max_abs_error, 999.0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(regression_error(at::tensor({1.0F, nan}), at::zeros({2})).max_abs_error));
}

TEST(Regression, IsJudgedAgainstTargetsAndBaseline) {
  const at::Tensor targets = at::zeros({4});
  const at::Tensor baseline = at::ones({4});
  Judgement judgement;
  const auto json = judge_regression({}, "net", {baseline, baseline, baseline * 1.06, targets}, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::kQualityLost) << judgement.reason;
  EXPECT_EQ(json.at("rows"), 4);
  EXPECT_NEAR(json.at("against_baseline").at("mean_signed_error").get<double>(), 0.06, 1e-6);
  EXPECT_EQ(json.at("against_targets").at("baseline").at("rmse"), 1.0);
  Judgement near;
  judge_regression({}, "net", {baseline, baseline, baseline * 1.04, targets}, near);
  EXPECT_EQ(near.verdict, Verdict::kPass);
  results::Rules rules;
  rules.maximum_rmse["net"] = 1.02;
  judge_rmse(rules, "net", 1.0, 1.04, near);
  EXPECT_EQ(near.verdict, Verdict::kQualityLost);
}

TEST(Regression, TargetsThatFitNoPredictions) {
  EXPECT_EQ(why_no_targets(at::zeros({3, 1}), at::zeros({3})), "");
  EXPECT_NE(why_no_targets(at::zeros({2}), at::zeros({3})), "");
  EXPECT_NE(why_no_targets(at::zeros({0}), at::zeros({0})), "");
}

}  // namespace
}  // namespace ampgate::validate
