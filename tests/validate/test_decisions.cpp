// Decisions of every kind from scores worked out by hand.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "validate/decisions/accuracy.h"
#include "validate/decisions/decide.h"

namespace ampgate::validate {
namespace {

using cases::DecisionKind;
using cases::Decisions;
using results::Verdict;
using Outcome = std::vector<std::int64_t>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

const Decisions kArgmax{};
const Decisions kTop2{.kind = DecisionKind::kTopK, .k = 2};
const Decisions kRanked2{.kind = DecisionKind::kTopK, .k = 2, .ranked = true};
const Decisions kTraffic{.kind = DecisionKind::kActions, .actions = {"stop", "go", "stop"}};
const Decisions kDose{
    .kind = DecisionKind::kActions, .actions = {"none", "low", "low", "high"}, .edges = {1, 2, 4}};

at::Tensor scores(const std::vector<double>& values, std::int64_t classes) {
  return at::tensor(values).view({-1, classes});
}

std::vector<Decision> decide_all(const std::vector<double>& values, std::int64_t classes,
                                 const Decisions& rule, const std::string& tie_rule = "lowest-index") {
  return decide(score_rows(scores(values, classes), rule), rule, tie_rule);
}

Decision decide_one(const std::vector<double>& values, const Decisions& rule,
                    const std::string& tie_rule = "lowest-index") {
  return decide_all(values, decides_single_scores(rule) ? 1 : std::ssize(values), rule, tie_rule)[0];
}

TEST(Decide, ArgmaxAndItsTies) {
  const auto decisions = decide_all({1, 3, 3, 2, 1, 0}, 3, kArgmax);
  EXPECT_EQ(decisions[0].outcome, Outcome{1});
  EXPECT_EQ(decisions[0].nearest.loser, 2);
  EXPECT_TRUE(decisions[0].tie);
  EXPECT_EQ(decisions[1].outcome, Outcome{0});
  EXPECT_EQ(decisions[1].nearest.loser, 1);
  EXPECT_FALSE(decisions[1].tie);
  EXPECT_EQ(decisions[1].margin, 1.0);
  EXPECT_EQ(decide_one({3, 1, 3}, kArgmax, "highest-index").outcome, Outcome{2});
  EXPECT_EQ(decide_one({3, 1, 3}, kArgmax, "reject").state, DecisionState::kRejected);
  EXPECT_EQ(decide_one({3, 1, 1}, kArgmax, "reject").outcome, Outcome{0});
}

TEST(Decide, NanMakesNoDecisionAndInfinitiesTie) {
  EXPECT_EQ(decide_one({1, kNan, 3}, kArgmax).state, DecisionState::kNone);
  EXPECT_EQ(decide_one({kNan}, kDose).state, DecisionState::kNone);
  const auto infinite = decide_one({kInf, 1, kInf}, kArgmax);
  EXPECT_EQ(infinite.outcome, Outcome{0});
  EXPECT_TRUE(infinite.tie);
  EXPECT_EQ(decide_one({-kInf, 1}, kArgmax).margin, kInf);
}

TEST(Decide, ThresholdsLookAtEachScore) {
  const Decisions one{.kind = DecisionKind::kThreshold, .thresholds = {0.5}};
  const auto yes = decide_all({0.5, 0.75, 0.25}, 1, one);
  EXPECT_EQ(yes[0].outcome, Outcome{1});  // at the threshold
  EXPECT_TRUE(yes[0].tie);
  EXPECT_EQ(yes[1].margin, 0.25);
  EXPECT_EQ(yes[2].outcome, Outcome{0});
  EXPECT_EQ(yes[2].margin, 0.25);
  const Decisions each{.kind = DecisionKind::kThreshold, .thresholds = {0.0, 2.0}};
  const auto by_class = decide_all({1, 1, -1, 3}, 2, each);
  EXPECT_EQ(by_class[0].outcome, Outcome{1});
  EXPECT_EQ(by_class[1].outcome, Outcome{0});
  EXPECT_EQ(by_class[2].outcome, Outcome{0});
  EXPECT_EQ(by_class[3].outcome, Outcome{1});
}

TEST(Decide, TopK) {
  const std::vector<double> z{1, 5, 4, 3.5};
  EXPECT_EQ(decide_one(z, kTop2).outcome, (Outcome{1, 2}));
  EXPECT_EQ(decide_one(z, kTop2).margin, 0.5);  // second less third
  EXPECT_EQ(decide_one({4, 5, 1}, kTop2).outcome, (Outcome{0, 1}));
  EXPECT_EQ(decide_one({4, 5, 1}, kRanked2).outcome, (Outcome{1, 0}));
  EXPECT_EQ(decide_one({4, 5, 1}, kRanked2).margin, 1.0);  // first less second
  EXPECT_EQ(decide_one({4, 5, 4}, kTop2).outcome, (Outcome{0, 1}));
  EXPECT_EQ(decide_one({4, 5, 4}, kTop2, "highest-index").outcome, (Outcome{1, 2}));
  EXPECT_EQ(decide_one({4, 5, 4}, kTop2, "reject").state, DecisionState::kRejected);
  EXPECT_EQ(decide_one({5, 5, 4}, kTop2, "reject").outcome, (Outcome{0, 1}));  // the set is certain
  EXPECT_EQ(decide_one({5, 5, 4}, kRanked2, "reject").state, DecisionState::kRejected);
}

TEST(Decide, ActionsByClass) {
  const Decision stop = decide_one({3, 1, 2.5}, kTraffic);
  EXPECT_EQ(decision_json(stop, kTraffic), "stop");
  EXPECT_EQ(stop.margin, 2.0);  // to the best class of another action
  EXPECT_TRUE(stop.same(decide_one({2, 1, 4}, kTraffic)));
  EXPECT_FALSE(stop.same(decide_one({2, 5, 4}, kTraffic)));
  EXPECT_EQ(decide_one({3, 1, 3}, kTraffic, "reject").state, DecisionState::kDecided);  // one action
  EXPECT_EQ(decide_one({3, 3, 1}, kTraffic, "reject").state, DecisionState::kRejected);
}

TEST(Decide, ActionsByInterval) {
  const auto name = [](double score) { return decision_json(decide_one({score}, kDose), kDose); };
  EXPECT_EQ(name(0.9), "none");
  EXPECT_EQ(name(1.0), "low");  // an edge belongs above
  EXPECT_EQ(name(3.0), "low");
  EXPECT_EQ(name(4.5), "high");
  EXPECT_EQ(decide_one({2.5}, kDose).margin, 1.5);  // the edge at 2 separates nothing
  EXPECT_TRUE(decide_one({1.5}, kDose).same(decide_one({2.5}, kDose)));
}

TEST(Decide, ManyDecisionsASample) {
  const ScoreRows rows = score_rows(at::arange(24, at::kDouble).view({2, 4, 3}), kArgmax);
  EXPECT_EQ(rows.rows(), 8);
  EXPECT_EQ(rows.rows_per_sample, 4);
  const Decisions each{.kind = DecisionKind::kThreshold, .thresholds = {1, 2, 3}};
  EXPECT_EQ(score_rows(at::zeros({2, 4, 3}), each).rows(), 24);
  EXPECT_EQ(score_rows(at::zeros({5}), each).rows(), 5);
}

TEST(Decide, RulesThatFitNoScores) {
  const auto why = [](at::IntArrayRef sizes, const Decisions& rule) {
    return why_undecidable(at::zeros(sizes), rule);
  };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  EXPECT_EQ(why({4, 3}, kArgmax), "");
  EXPECT_TRUE(has(why({4, 1}, kArgmax), "one class"));
  EXPECT_TRUE(has(why({0, 3}, kArgmax), "batch is empty"));
  EXPECT_TRUE(has(why({}, kArgmax), "no dimension"));
  EXPECT_TRUE(has(why({4, 2}, kTop2), "no choice"));
  EXPECT_TRUE(has(why({4, 2}, kTraffic), "3 actions for 2 classes"));
  EXPECT_EQ(why({4, 3}, kTraffic), "");
  EXPECT_EQ(why({4}, kDose), "");
  Decisions wrong = kDose;
  wrong.edges = {1, 4, 2};
  EXPECT_TRUE(has(why({4}, wrong), "ascending"));
  wrong.edges = {1};
  EXPECT_TRUE(has(why({4}, wrong), "4 actions for 2 intervals"));
  wrong.actions = {"a", "a"};
  EXPECT_TRUE(has(why({4}, wrong), "all actions are the same"));
  EXPECT_TRUE(has(why({4, 3}, {.kind = DecisionKind::kThreshold, .thresholds = {1, 2}}), "2 thresholds"));
  EXPECT_TRUE(has(why({4, 3}, {.kind = DecisionKind::kThreshold, .thresholds = {kNan}}), "not finite"));
  EXPECT_TRUE(has(why_undecidable(at::zeros({4, 3}, at::kLong), kArgmax), "no floating"));
}

at::Tensor labels(const std::vector<std::int64_t>& values) { return at::tensor(values); }

std::int64_t right(const std::vector<double>& values, std::int64_t classes, const Decisions& rule,
                   const std::vector<std::int64_t>& wanted, const std::string& tie_rule = "lowest-index") {
  return right_decisions(decide_all(values, classes, rule, tie_rule), labels(wanted), rule);
}

TEST(Accuracy, OfEveryKind) {
  EXPECT_EQ(right({1, 0, 0, 1, 1, 0, 0, 1}, 2, kArgmax, {0, 1, 0, 0}), 3);
  EXPECT_EQ(right({1, 1, 2, 1}, 2, kArgmax, {0, 0}, "reject"), 1);
  EXPECT_EQ(right({3, 2, 1, 3, 2, 1}, 3, kTop2, {1, 2}), 1);
  EXPECT_EQ(right({3, 2, 1, 3, 2, 1}, 3, kTraffic, {2, 1}), 1);  // class 2 stops as class 0 does
  EXPECT_EQ(right({0.5, 1.5, 2.5}, 1, kDose, {0, 2, 3}), 2);
}

TEST(Accuracy, LabelsThatAreNone) {
  const ScoreRows rows = score_rows(at::zeros({3, 4}), kArgmax);
  EXPECT_EQ(why_no_labels(labels({0, 3, 1}), rows, kArgmax), "");
  EXPECT_NE(why_no_labels(labels({0, 4, 1}), rows, kArgmax).find("number 1 is 4, which is none of 0 to 3"),
            std::string::npos);
  EXPECT_NE(why_no_labels(labels({0, 1, -100}), rows, kArgmax).find("-100"), std::string::npos);
  EXPECT_NE(why_no_labels(labels({0, 1}), rows, kArgmax).find("2 for 3"), std::string::npos);
  EXPECT_NE(why_no_labels(at::zeros({3}), rows, kArgmax).find("Float"), std::string::npos);
  const Decisions threshold{.kind = DecisionKind::kThreshold, .thresholds = {0}};
  EXPECT_EQ(why_no_labels(at::ones({3}, at::kBool), score_rows(at::zeros({3}), threshold), threshold), "");
  EXPECT_TRUE(one_class_only(labels({2, 2, 2})));
  EXPECT_FALSE(one_class_only(labels({2, 1, 2})));
}

TEST(Accuracy, MinimumAndLoss) {
  results::Rules rules;
  rules.maximum_accuracy_loss = 0.01;
  rules.minimum_accuracy["net"] = 0.9;
  const auto verdict = [&](const Accuracy& accuracy, const std::string& name) {
    Judgement judgement;
    judge_accuracy(rules, name, accuracy, judgement);
    return judgement.verdict;
  };
  EXPECT_EQ(verdict({1000, 950, 945}, "net"), Verdict::kPass);
  EXPECT_EQ(verdict({1000, 950, 930}, "net"), Verdict::kQualityLost);
  EXPECT_EQ(verdict({1000, 890, 890}, "net"), Verdict::kQualityLost);
  EXPECT_EQ(verdict({1000, 890, 890}, "other"), Verdict::kPass);
  EXPECT_EQ(verdict({1000, 890, 990}, "other"), Verdict::kPass);
  // One row of 16 is more than 1 %: too few to say.
  EXPECT_EQ(verdict({16, 16, 15}, "other"), Verdict::kAmbiguous);
  EXPECT_EQ(verdict({16, 16, 14}, "other"), Verdict::kQualityLost);
}

}  // namespace
}  // namespace ampgate::validate
