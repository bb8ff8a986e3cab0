// Which step a failed training goes back to, on trainings whose steps go wrong as a script says.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "cases/case.h"
#include "cases/fills.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {
namespace {

// A letter a step: g good, G gradients that are not finite under a loss that is, L a loss that is not.
std::string script;
std::size_t step = 0;

at::Tensor loss(cases::State& state) {
  const at::Tensor& weight = state[1];
  switch (script.at(step++)) {
    case 'G':
      return (weight - weight.detach()).sqrt().sum();
    case 'L':
      return weight.sum() * std::numeric_limits<double>::infinity();
    default:
      return weight.square().sum();
  }
}

cases::Case scripted() {
  return {.name = "scripted",
          .dims = {"batch"},
          .suites = {{"smoke", {{2}}}},
          .outputs = {"out"},
          .setup = [](const cases::Shape&, const cases::Fill& fill) -> cases::State {
            return {{{"x", fill.normal("x", {8})}, {"w", at::ones({3}), cases::Role::kWeight}}};
          },
          .run = [](cases::State& state) -> cases::Outputs { return {state[1]}; },
          .facts = [](const cases::Shape&) -> cases::Facts { return {}; },
          .training =
              cases::Training{.loss = loss, .optimizers = {{.learning_rate = 0.1}}, .rows = {{"x", "x"}}}};
}

WatchedRun run(const std::string& letters, bool scaler) {
  const cases::Case definition = scripted();
  const cases::Shape shape = definition.shape({2});
  const cases::Fill fill(1, definition.name, shape.name);
  cases::Trainer trainer(definition, shape, fill, definition.setup(shape, fill),
                         {.precision = precision::baseline(), .scaler = scaler});
  script = letters;
  step = 0;
  return watch(trainer, static_cast<int>(letters.size()), {});
}

void expect_bad_step(const std::string& letters, bool scaler, std::optional<std::size_t> expected) {
  const WatchedRun watched = run(letters, scaler);
  EXPECT_EQ(watched.bad_step, expected) << letters;
  ASSERT_EQ(watched.before_bad.has_value(), expected.has_value()) << letters;
  if (expected) {
    EXPECT_EQ(watched.before_bad->state.at("iteration"), *expected) << letters;
    EXPECT_TRUE(watched.before_bad->tensors.at("weights.w").isfinite().all().item<bool>()) << letters;
  }
}

TEST(WatchedRun, NothingWrongIsNoBadStep) {
  expect_bad_step("gggg", true, {});
  expect_bad_step("gggg", false, {});
}

TEST(WatchedRun, WithoutAScalerTheFirstBadGradientLosesTheWeights) { expect_bad_step("ggGggG", false, 2); }

TEST(WatchedRun, ALossThatIsNotFiniteCountsMoreThanASkippedStepBefore) {
  expect_bad_step("GggLg", true, 3);
  expect_bad_step("GGGgL", true, 4);
}

TEST(WatchedRun, OfSkippedStepsTheLongestRunCounts) {
  expect_bad_step("GgGGGgGG", true, 2);
  expect_bad_step("GGgGG", true, 0);  // the first of two that are as long
  expect_bad_step("gG", true, 1);
}

}  // namespace
}  // namespace ampgate::validate
