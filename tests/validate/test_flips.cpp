// Flips: explained, tie collapse, defect, lost; limits of the rules; the table.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "validate/decisions/flips.h"
#include "validate/decisions/judge.h"
#include "validate/decisions/table.h"

namespace ampgate::validate {
namespace {

using cases::DecisionKind;
using cases::Decisions;
using results::Verdict;

const Decisions kArgmax{};

at::Tensor scores(const std::vector<double>& values, std::int64_t classes) {
  return at::tensor(values).view({-1, classes});
}

// Two replays in which score i is `values[i]` -+ 0.01 / sqrt(2): a standard deviation of 0.01 each, and of
// 0.01 sqrt(2) for a margin of two, since neighbours go opposite ways.
std::vector<at::Tensor> replays(const std::vector<double>& values, std::int64_t classes) {
  std::vector<double> up, down;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double shift = (i % 2 == 0 ? 0.01 : -0.01) / std::sqrt(2.0);
    up.push_back(values[i] + shift);
    down.push_back(values[i] - shift);
  }
  return {scores(up, classes), scores(down, classes)};
}

DecisionComparison compared(const std::vector<double>& baseline, const std::vector<double>& trial,
                            std::int64_t classes, const Decisions& rule = kArgmax,
                            const std::string& tie_rule = "lowest-index") {
  results::Rules rules;  // 5 deviations
  rules.decisions.tie_rule = tie_rule;
  return compare_decisions(scores(baseline, classes), scores(trial, classes), replays(baseline, classes),
                           rule, rules);
}

Effect effect(const std::vector<double>& baseline, const std::vector<double>& trial, std::int64_t classes,
              const Decisions& rule = kArgmax, const std::string& tie_rule = "lowest-index") {
  const auto flips = compared(baseline, trial, classes, rule, tie_rule).flips;
  EXPECT_LE(flips.size(), 1U);
  return flips.empty() ? Effect::kUnchanged : flips[0].effect;
}

// Margins of neighbours have sd 0.02: explained up to 0.1.
TEST(Flips, ArgmaxIsExplainedUpToTheRulesDeviations) {
  const Flip flip = compared({1.09, 1.0}, {1.0, 1.02}, 2).flips.at(0);
  EXPECT_EQ(flip.effect, Effect::kExplained);
  EXPECT_NEAR(flip.margin, 0.09, 1e-12);
  EXPECT_NEAR(flip.allowed, 0.1, 1e-12);
  EXPECT_EQ(effect({1.11, 1.0}, {1.0, 1.02}, 2), Effect::kDefect);
  EXPECT_EQ(effect({1.09, 1.0}, {1.01, 1.0}, 2), Effect::kUnchanged);
}

TEST(Flips, TieCollapseIsApartButDoesNotHideADefect) {
  EXPECT_EQ(effect({1.0, 1.05}, {1.0, 1.0}, 2), Effect::kTieCollapse);
  EXPECT_EQ(effect({1.0, 9.0}, {0.0, 0.0}, 2), Effect::kDefect);
  EXPECT_EQ(effect({1.05, 1.0}, {1.0, 1.0}, 2, kArgmax, "highest-index"), Effect::kTieCollapse);
  EXPECT_EQ(effect({1.05, 1.0}, {1.0, 1.0}, 2), Effect::kUnchanged);
}

TEST(Flips, RejectedTies) {
  EXPECT_EQ(effect({1.05, 1.0}, {1.0, 1.0}, 2, kArgmax, "reject"), Effect::kTieCollapse);
  EXPECT_EQ(effect({1.5, 1.0}, {1.0, 1.0}, 2, kArgmax, "reject"), Effect::kDefect);
  EXPECT_EQ(effect({1.0, 1.0}, {1.0, 1.01}, 2, kArgmax, "reject"), Effect::kExplained);
  EXPECT_EQ(effect({1.0, 1.0}, {2.0, 2.0}, 2, kArgmax, "reject"), Effect::kUnchanged);
}

TEST(Flips, NanLosesTheDecision) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto lost = compared({1.0, 2.0}, {nan, 2.0}, 2);
  ASSERT_EQ(lost.flips.size(), 1U);
  EXPECT_EQ(lost.flips[0].effect, Effect::kLost);
  const FlipCounts counts = count(lost.flips);
  EXPECT_EQ(counts.lost, 1);
  EXPECT_EQ(counts.flips, 0);
  Judgement judgement;
  judge_flips({}, lost, 1, "ordinary inputs", kArgmax, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::kNonfinite);
  EXPECT_NE(judgement.reason.find("row 0"), std::string::npos) << judgement.reason;
}

TEST(Flips, ThresholdsCountTheScoresOwnDeviation) {
  const Decisions rule{.kind = DecisionKind::kThreshold, .thresholds = {0.5}};
  EXPECT_EQ(effect({0.54}, {0.49}, 1, rule), Effect::kExplained);  // explained up to 0.05
  EXPECT_EQ(effect({0.56}, {0.49}, 1, rule), Effect::kDefect);
  EXPECT_EQ(effect({0.46}, {0.5}, 1, rule), Effect::kTieCollapse);
  EXPECT_EQ(effect({0.44}, {0.51}, 1, rule), Effect::kDefect);
}

TEST(Flips, EveryExchangeOfATopKMustBeExplained) {
  const Decisions top2{.kind = DecisionKind::kTopK, .k = 2};
  // Neighbours in the list of classes have deviation 0.02, classes two apart none.
  EXPECT_EQ(effect({5.0, 1.09, 1.0}, {5.0, 1.0, 1.02}, 3, top2), Effect::kExplained);
  EXPECT_EQ(effect({5.0, 1.09, 1.0}, {1.0, 1.1, 1.02}, 3, top2), Effect::kDefect);
  // The order within the k counts only where the case says so.
  EXPECT_EQ(effect({5.0, 4.95, 1.0}, {4.9, 4.95, 1.0}, 3, top2), Effect::kUnchanged);
  Decisions ranked = top2;
  ranked.ranked = true;
  EXPECT_EQ(effect({5.0, 4.95, 1.0}, {4.9, 4.95, 1.0}, 3, ranked), Effect::kExplained);
  EXPECT_EQ(effect({5.0, 4.5, 1.0}, {4.4, 4.5, 1.0}, 3, ranked), Effect::kDefect);
}

TEST(Flips, AChangedClassIsNotAlwaysAChangedAction) {
  const Decisions rule{.kind = DecisionKind::kActions, .actions = {"stop", "stop", "go"}};
  const auto same = compared({2.0, 1.0, 0.0}, {1.0, 2.0, 0.0}, 3, rule);
  EXPECT_TRUE(same.flips.empty());
  EXPECT_EQ(same.same_outcome, 1);
  EXPECT_EQ(effect({0.0, 1.09, 1.0}, {0.0, 1.0, 1.02}, 3, rule), Effect::kExplained);
}

TEST(Flips, AnIntervalsFarthestEdgeCounts) {
  const Decisions rule{.kind = DecisionKind::kActions, .actions = {"a", "b", "c"}, .edges = {1.0, 1.03}};
  const Flip far = compared({0.99}, {1.04}, 1, rule).flips.at(0);
  EXPECT_NEAR(far.margin, 0.04, 1e-12);  // both edges are passed
  EXPECT_EQ(far.effect, Effect::kExplained);
  const Flip down = compared({1.05}, {0.9}, 1, rule).flips.at(0);
  EXPECT_NEAR(down.margin, 0.05, 1e-12);
  EXPECT_EQ(effect({0.99}, {1.02}, 1, rule), Effect::kExplained);
}

TEST(Flips, LimitsByKind) {
  DecisionComparison rows = compared({1.05, 1.0, 1.0, 3.0}, {1.0, 1.02, 1.0, 3.0}, 2);
  const auto verdict = [&](const results::Rules::FlipLimits& limits) {
    Judgement judgement;
    judge_flips(limits, rows, 2, "ordinary inputs", kArgmax, judgement);
    return judgement.verdict;
  };
  EXPECT_EQ(verdict({}), Verdict::kPass);
  EXPECT_EQ(verdict({.flips = 0.4}), Verdict::kDecisionChanged);
  EXPECT_EQ(verdict({.flips = 0.5}), Verdict::kPass);
  EXPECT_EQ(verdict({.explained = 0.4}), Verdict::kDecisionChanged);
  EXPECT_EQ(verdict({.tie_collapse = 0.0}), Verdict::kPass);
  rows.flips[0].effect = Effect::kTieCollapse;
  EXPECT_EQ(verdict({.tie_collapse = 0.0}), Verdict::kDecisionChanged);
  rows.flips[0].effect = Effect::kDefect;
  Judgement judgement;
  judge_flips({}, rows, 2, "boundary inputs", kArgmax, judgement);
  EXPECT_EQ(judgement.verdict, Verdict::kDecisionChanged);
  EXPECT_NE(judgement.reason.find("row 0 went from 0 to 1"), std::string::npos) << judgement.reason;
  EXPECT_NE(judgement.reason.find("without rounding"), std::string::npos) << judgement.reason;
}

TEST(DecisionTable, FlipsFirstThenTheSmallestMargins) {
  // Margins 0.05, 0.3, 0.2, 4; the first flips (explained), the last as well (a defect).
  const auto rows =
      compared({1.05, 1.0, 1.3, 1.0, 1.0, 1.2, 5.0, 1.0}, {1.0, 1.02, 1.3, 1.0, 1.0, 1.2, 1.0, 2.0}, 2);
  const at::Tensor ids = at::tensor(std::vector<std::int64_t>{70, 71, 72, 73});
  DecisionTable table(kArgmax, &ids);
  table.add("ordinary", rows, 1, 1);
  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(table.left_out(), 1U);
  const auto& defect = table.rows()[0];
  EXPECT_EQ(defect.at("id"), 73);
  EXPECT_EQ(defect.at("effect"), "defect");
  EXPECT_EQ(defect.at("baseline_decision"), 0);
  EXPECT_EQ(defect.at("trial_decision"), 1);
  EXPECT_EQ(defect.at("baseline_scores").dump(), "[5.0,1.0]");
  EXPECT_EQ(defect.at("trial_scores").dump(), "[1.0,2.0]");
  EXPECT_EQ(defect.at("margin"), 4.0);
  EXPECT_EQ(table.rows()[1].at("id"), 72);
  EXPECT_EQ(table.rows()[1].at("effect"), "unchanged");
}

}  // namespace
}  // namespace ampgate::validate
