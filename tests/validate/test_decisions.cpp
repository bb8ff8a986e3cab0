#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "validate/decisions.h"
#include "validate/regression.h"

namespace ampgate::validate {
namespace {

using results::Verdict;

at::Tensor scores(std::initializer_list<double> values, std::int64_t classes) {
  return at::tensor(std::vector<double>(values)).view({-1, classes});
}

TEST(Decide, LowestIndexWinsATie) {
  const auto decisions = decide(scores({1, 3, 3, 2, 1, 0}, 3), "lowest-index");
  EXPECT_EQ(decisions[0].chosen, 1);
  EXPECT_EQ(decisions[0].runner_up, 2);
  EXPECT_TRUE(decisions[0].tie);
  EXPECT_EQ(decisions[1].chosen, 0);
  EXPECT_EQ(decisions[1].runner_up, 1);
  EXPECT_FALSE(decisions[1].tie);
}

TEST(Decide, RejectsATieWhereTheRulesSay) {
  EXPECT_EQ(decide(scores({1, 3, 3}, 3), "reject")[0].chosen, kRejected);
  EXPECT_EQ(decide(scores({1, 3, 2}, 3), "reject")[0].chosen, 1);
}

TEST(Decide, Accuracy) {
  const auto decisions = decide(scores({1, 0, 0, 1, 1, 0, 0, 1}, 2), "lowest-index");
  EXPECT_DOUBLE_EQ(accuracy(decisions, at::tensor(std::vector<std::int64_t>{0, 1, 0, 0})), 0.75);
}

// Margins of the replays: 0.1 +- 0.01, so the standard deviation is 0.01 sqrt(2) over two runs.
std::vector<at::Tensor> replays() { return {scores({1.11, 1.0}, 2), scores({1.09, 1.0}, 2)}; }

TEST(Flips, ExplainedUpToTheRulesDeviations) {
  results::Rules rules;
  rules.bounds.flip_deviations = 5.0;  // allows 0.0707
  const auto explained = find_flips(scores({1.07, 1.0}, 2), scores({1.0, 1.02}, 2), replays(), rules);
  ASSERT_EQ(explained.size(), 1U);
  EXPECT_EQ(explained[0].cls, FlipClass::kExplained);
  EXPECT_NEAR(explained[0].baseline_margin, 0.07, 1e-12);
  const auto defect = find_flips(scores({1.072, 1.0}, 2), scores({1.0, 1.02}, 2), replays(), rules);
  EXPECT_EQ(defect[0].cls, FlipClass::kDefect);
  EXPECT_TRUE(find_flips(scores({1.07, 1.0}, 2), scores({1.01, 1.0}, 2), replays(), rules).empty());
}

TEST(Flips, TieCollapseIsApartButDoesNotHideADefect) {
  const results::Rules rules;
  const std::vector<at::Tensor> quiet{scores({1.0, 1.09}, 2), scores({1.0, 1.11}, 2)};
  const auto collapse = find_flips(scores({1.0, 1.05}, 2), scores({1.0, 1.0}, 2), quiet, rules);
  ASSERT_EQ(collapse.size(), 1U);
  EXPECT_EQ(collapse[0].cls, FlipClass::kTieCollapse);
  const auto zeros = find_flips(scores({1.0, 9.0}, 2), scores({0.0, 0.0}, 2), quiet, rules);
  EXPECT_EQ(zeros[0].cls, FlipClass::kDefect);
}

TEST(Flips, DefectsDecideEverywhereFlipsOnOrdinaryInputsOnly) {
  results::Rules rules;
  rules.decisions.ordinary.flips = 0.1;
  const std::vector<Flip> explained{{0, 1, 2, 0.01, FlipClass::kExplained}};
  Judgement judgement;
  judge_flips(rules, explained, 5, true, "boundary inputs", judgement);
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  judge_flips(rules, explained, 5, false, "ordinary inputs", judgement);
  EXPECT_EQ(judgement.verdict, Verdict::kDecisionChanged);

  Judgement defect;
  judge_flips(rules, {{7, 1, 2, 0.5, FlipClass::kDefect}}, 100, true, "boundary inputs", defect);
  EXPECT_EQ(defect.verdict, Verdict::kDecisionChanged);
  EXPECT_NE(defect.reason.find("row 7"), std::string::npos);
}

TEST(Quality, AccuracyAndRmse) {
  results::Rules rules;
  rules.maximum_accuracy_loss = 0.01;
  rules.minimum_accuracy["net"] = 0.9;
  const auto verdict = [&](double baseline, double trial, const std::string& name) {
    Judgement judgement;
    judge_accuracy(rules, name, baseline, trial, judgement);
    return judgement.verdict;
  };
  EXPECT_EQ(verdict(0.95, 0.945, "net"), Verdict::kPass);
  EXPECT_EQ(verdict(0.95, 0.93, "net"), Verdict::kQualityLost);
  EXPECT_EQ(verdict(0.89, 0.89, "net"), Verdict::kQualityLost);
  EXPECT_EQ(verdict(0.89, 0.89, "other"), Verdict::kPass);

  EXPECT_DOUBLE_EQ(rmse(at::tensor({1.0F, 3.0F}), at::tensor({0.0F, 0.0F})), std::sqrt(5.0));
  Judgement judgement;
  judge_rmse(rules, "net", 1.0, 1.04, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  judge_rmse(rules, "net", 1.0, 1.06, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::kQualityLost);
}

}  // namespace
}  // namespace ampgate::validate
