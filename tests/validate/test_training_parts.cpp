// The parts of phase 1 for training on data made by hand: shadow steps, and what a scaler did.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "validate/training/scaling.h"
#include "validate/training/shadow.h"
#include "validate/training/underflow.h"

namespace ampgate::validate {
namespace {

using results::Rules;
using results::Verdict;

at::Tensor vector_of(std::vector<double> values) { return at::tensor(values, at::kDouble); }

TEST(Shadow, ErrorsAreNormAgainstNorm) {
  const ShadowStep step =
      compare_gradients({vector_of({1, 2, 0}), vector_of({3})}, {vector_of({1, 2, 2}), vector_of({4})}, 7);
  EXPECT_EQ(step.step, 7);
  EXPECT_DOUBLE_EQ(step.norm, 5);
  EXPECT_DOUBLE_EQ(step.error, std::sqrt(5.0) / 5);  // (2, 1) against (1, 2, 2, 4)
  EXPECT_DOUBLE_EQ(step.errors.at(0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(step.errors.at(1), 1.0 / 4);
}

TEST(Shadow, AMissingGradientIsZero) {
  const ShadowStep step =
      compare_gradients({at::Tensor(), vector_of({4})}, {vector_of({3, 0}), vector_of({4})}, 0);
  EXPECT_DOUBLE_EQ(step.error, 3.0 / 5);
}

TEST(Shadow, WhatFp64HasNotIsNotCompared) {
  const ShadowStep step =
      compare_gradients({vector_of({9}), vector_of({4})}, {at::Tensor(), vector_of({4})}, 0);
  EXPECT_EQ(step.error, 0);
  EXPECT_EQ(step.errors, (std::vector<double>{0, 0}));
}

TEST(Shadow, GradientsThatAreNotFinite) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const ShadowStep step =
        compare_gradients({vector_of({bad}), vector_of({4})}, {vector_of({1}), vector_of({4})}, 0);
    EXPECT_EQ(step.error, std::numeric_limits<double>::infinity());
    EXPECT_EQ(step.errors.at(1), 0);
  }
}

using Gradients = std::vector<at::Tensor>;

// What a larger scale gives, and how often it was asked for.
struct Larger {
  std::function<Gradients(double)> gradients;
  int calls = 0;
  ZeroShares of(const Gradients& trial, const Gradients& fp64, double smallest_normal = 0) {
    const auto counted = [&](double scale) {
      ++calls;
      return gradients(scale / kScale);
    };
    return zero_shares(trial, fp64, kScale, counted, smallest_normal);
  }
  static constexpr double kScale = 65536;
};

TEST(Underflow, WhatALargerScaleRevivesUnderflowed) {
  Larger larger{[](double factor) { return Gradients{vector_of({1, factor >= 256 ? 1e-9 : 0, 0, 0})}; }};
  const ZeroShares shares = larger.of({vector_of({1, 0, 0, 0})}, {vector_of({1, 1e-9, 1e-9, 0})});
  EXPECT_DOUBLE_EQ(shares.underflow, 1.0 / 3) << "of three that are not zero in FP64";
  EXPECT_DOUBLE_EQ(shares.cancelled, 1.0 / 3) << "zero with 65536 times the scale as well";
  EXPECT_EQ(shares.lost, (std::vector<bool>{false}));
  EXPECT_EQ(larger.calls, 3) << "16, 256, 65536";
}

TEST(Underflow, NothingZeroAsksForNoOtherScale) {
  Larger larger{[](double) { return Gradients{vector_of({1, 2})}; }};
  EXPECT_EQ(larger.of({vector_of({1, 2})}, {vector_of({1, 2})}).underflow, 0);
  EXPECT_EQ(larger.calls, 0);
}

// Then the size of the scaled gradient itself decides.
TEST(Underflow, WhereLargerScalesOverflow) {
  const double inf = std::numeric_limits<double>::infinity();
  Larger larger{[=](double) { return Gradients{vector_of({inf, inf, inf})}; }};
  const ZeroShares shares = larger.of({vector_of({1, 0, 0})}, {vector_of({1, 1e-12, 1e-3})}, 1e-6);
  EXPECT_DOUBLE_EQ(shares.underflow, 1.0 / 3);
  EXPECT_DOUBLE_EQ(shares.cancelled, 1.0 / 3);
  EXPECT_EQ(larger.calls, 1);
}

TEST(Underflow, AParameterIsLostWithAllOfItsElements) {
  Larger larger{[](double) { return Gradients{vector_of({5, 0}), vector_of({1e-9, 0}), at::Tensor()}; }};
  const ZeroShares shares = larger.of({vector_of({5, 0}), vector_of({0, 0}), at::Tensor()},
                                      {vector_of({5, 0}), vector_of({1e-9, 0}), at::Tensor()});
  EXPECT_EQ(shares.lost, (std::vector<bool>{false, true, false}));
  EXPECT_DOUBLE_EQ(shares.underflow, 1.0 / 2);
}

// One optimizer; 'x': applied, '.': skipped.
WatchedRun run_of(const std::string& steps, double scale = 65536) {
  WatchedRun run;
  for (const char step : steps) {
    run.steps.emplace_back();
    run.steps.back().called = {true};
    run.steps.back().stepped = {step == 'x'};
    run.steps.back().scale = scale;
  }
  return run;
}

Judgement judged(const WatchedRun& run, const Rules::Training& rules = {}) {
  Judgement judgement;
  judge_scaling(rules, run, true, judgement);
  return judgement;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Scaling, CountsAppliedAndSkippedSteps) {
  const Applied counts = applied_by(run_of("..x.xx...x"), 0);
  EXPECT_EQ(counts.applied, 4);
  EXPECT_EQ(counts.skipped, 6);
  EXPECT_EQ(counts.longest_skip, 3);
  EXPECT_EQ(counts.first, 3);
  EXPECT_EQ(applied_by(run_of("..."), 0).first, 0);
}

TEST(Scaling, TheOptimizerThatSkipsMostDecides) {
  WatchedRun run = run_of("x.x.");
  for (auto& step : run.steps) {
    step.called.push_back(true);
    step.stepped.push_back(true);
  }
  Judgement judgement;
  const auto json = judge_scaling({}, run, true, judgement);
  EXPECT_EQ(json.at("applied"), 2);
  EXPECT_EQ(json.at("optimizers").at(1).at("applied"), 4);
  EXPECT_EQ(judgement.verdict, Verdict::kQualityLost) << "half of its steps";
}

TEST(Scaling, TheRulesLimitWhatIsSkipped) {
  EXPECT_EQ(judged(run_of(repeated(".", 12) + repeated("x", 88))).verdict, Verdict::kPass);
  EXPECT_EQ(judged(run_of("x" + repeated(".", 13) + repeated("x", 86))).verdict, Verdict::kNonfinite);
  EXPECT_EQ(judged(run_of(repeated("xxx.", 25))).verdict, Verdict::kPass);
  EXPECT_EQ(judged(run_of(repeated("xxx.", 24) + "xx..")).verdict, Verdict::kQualityLost);
  const Judgement none = judged(run_of("...."));
  EXPECT_EQ(none.verdict, Verdict::kNonfinite);
  EXPECT_NE(none.reason.find("no update was applied in 4 steps"), std::string::npos) << none.reason;
  const Rules::Training patient{.max_skipped_share = 1, .max_consecutive_skips = 99};
  const Judgement late = judged(run_of(repeated(".", 16) + "x"), patient);
  EXPECT_NE(late.reason.find("the first update was applied at step 17"), std::string::npos) << late.reason;
}

TEST(Scaling, ARunThatEndsInSkippedStepsIsNoPass) {
  EXPECT_EQ(judged(run_of(repeated("x", 98) + "..")).verdict, Verdict::kPass);
  const Judgement falling = judged(run_of(repeated("x", 97) + "..."));
  EXPECT_EQ(falling.verdict, Verdict::kAmbiguous);
  EXPECT_NE(falling.reason.find("the last 3 steps were skipped"), std::string::npos) << falling.reason;
  WatchedRun two = run_of(repeated("x", 97) + "...");
  for (std::size_t i = 0; i < two.steps.size(); ++i) {
    two.steps[i].called.push_back(true);
    two.steps[i].stepped.push_back(i > 10);
  }
  EXPECT_EQ(judged(two).verdict, Verdict::kAmbiguous) << "the other one skipped more, but not at the end";
}

TEST(Scaling, AScaleThatFallsWithoutEndIsNoPass) {
  const auto falling = [](const std::string& steps) {
    WatchedRun run = run_of(steps);
    double scale = 65536;
    for (auto& step : run.steps) {
      step.scale = scale;
      if (!step.stepped[0]) scale /= 2;
    }
    return run;
  };
  const Judgement endless = judged(falling(repeated("xxxxxxx.", 12) + "xxxx"));
  EXPECT_EQ(endless.verdict, Verdict::kNonfinite);
  EXPECT_NE(endless.reason.find(
                "the scale keeps falling: from 1024 after half of the steps to 16 at the end, and 6 "
                "steps of the second half were skipped"),
            std::string::npos)
      << endless.reason;
  EXPECT_EQ(judged(falling("............" + repeated("x", 88))).verdict, Verdict::kPass) << "it settles";
  EXPECT_EQ(judged(falling(repeated("x", 60) + "..x." + repeated("x", 36))).verdict, Verdict::kPass)
      << "gradients that grow eightfold";
  WatchedRun growing = run_of(repeated("xxx.", 25));
  for (std::size_t i = 0; i < growing.steps.size(); ++i) growing.steps[i].scale = i % 4 == 3 ? 65536 : 32768;
  EXPECT_EQ(judged(growing).verdict, Verdict::kPass) << "a short growth interval";
}

// At 2^-128 the inverse is infinite: steps go on, and nothing recovers.
TEST(Scaling, ACollapsedScaleIsNoPass) {
  for (const double scale :
       {0.0, std::ldexp(1.0, -128), std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Judgement judgement = judged(run_of("xxxx", scale));
    EXPECT_EQ(judgement.verdict, Verdict::kNonfinite) << scale;
    EXPECT_NE(judgement.reason.find("collapsed"), std::string::npos) << judgement.reason;
  }
  EXPECT_EQ(judged(run_of("xxxx", std::ldexp(1.0, -126))).verdict, Verdict::kPass);
}

TEST(Scaling, AScaleBelowOneIsReportedUnlessTheRulesForbidIt) {
  const Judgement judgement = judged(run_of("xxxx", 0.5));
  EXPECT_EQ(judgement.verdict, Verdict::kPass);
  ASSERT_EQ(judgement.findings.size(), 1U);
  EXPECT_EQ(judgement.findings[0].verdict, "scale-below-one");
  EXPECT_EQ(judged(run_of("xxxx", 0.5), {.min_scale = 1}).verdict, Verdict::kNonfinite);
  EXPECT_TRUE(judged(run_of("xxxx", 1)).findings.empty());
}

TEST(Scaling, WithoutAScalerThereIsNoScale) {
  Judgement judgement;
  const auto json = judge_scaling({}, run_of("xxxx", 1), false, judgement);
  EXPECT_FALSE(json.contains("scale"));
  EXPECT_EQ(json.at("first_applied"), 1);
}

}  // namespace
}  // namespace ampgate::validate
