#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cases/execute.h"
#include "cases/fills.h"
#include "validate/boundary.h"
#include "validate/mutants.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;

// Scores (x, -x): the boundary is at 0 and the margin 2 |x|.
cases::Case sign_case() {
  return {.name = "test-sign",
          .dims = {"rows"},
          .suites = {},
          .outputs = {"scores"},
          .setup = [](const cases::Shape& shape, const cases::Fill& fill) -> State {
            return {{{"x", fill.normal("x", {shape["rows"], 1})}}};
          },
          .run = [](State& state) -> Outputs {
            return {at::cat({state[0], -state[0]}, 1)};
          },
          .facts = [](const cases::Shape&) -> cases::Facts { return {}; },
          .model = true};
}

TEST(Boundary, MarginsFallBelowEachRung) {
  const cases::Case definition = sign_case();
  const auto shape = definition.shape({200});
  const State original = definition.setup(shape, cases::Fill(1, definition.name, shape.name));
  const auto rungs = boundary_inputs(definition, original, {}, 200).rungs;
  ASSERT_EQ(rungs.size(), 6U);
  EXPECT_EQ(rungs.front().margin, 1e-1);
  EXPECT_EQ(rungs.back().margin, 1e-6);
  for (const auto& rung : rungs) {
    const at::Tensor& x = rung.state[0];
    EXPECT_EQ(x.scalar_type(), at::kFloat);
    EXPECT_EQ(x.size(0), 128);
    EXPECT_EQ(rung.count, 128);
    EXPECT_LT((2 * x.abs()).max().item<double>(), rung.margin);
  }
}

// Every kind of decision has its boundary; the margin is that of the kind.
TEST(Boundary, OfEveryKindOfDecision) {
  cases::Case definition = sign_case();
  const auto find = [&](const cases::Decisions& rule, auto margin) {
    const auto shape = definition.shape({100});
    const State original = definition.setup(shape, cases::Fill(1, definition.name, shape.name));
    const Boundary boundary = boundary_inputs(definition, original, rule, 100);
    EXPECT_EQ(boundary.why_none, "");
    for (const auto& rung : boundary.rungs) {
      EXPECT_EQ(rung.count, 100);
      EXPECT_LT(margin(rung.state[0].to(at::kDouble)).max().template item<double>(), rung.margin);
    }
  };
  using cases::DecisionKind;
  find({.kind = DecisionKind::kActions, .actions = {"left", "right"}},
       [](const at::Tensor& x) { return 2 * x.abs(); });
  definition.run = [](State& state) -> Outputs { return {state[0].squeeze(1)}; };
  find({.kind = DecisionKind::kThreshold, .thresholds = {0.25}},
       [](const at::Tensor& x) { return (x - 0.25).abs(); });
  find({.kind = DecisionKind::kActions, .actions = {"low", "high"}, .edges = {-0.5}},
       [](const at::Tensor& x) { return (x + 0.5).abs(); });
  // Scores x, 0 and -1: the two largest change where x crosses -1.
  definition.run = [](State& state) -> Outputs {
    return {at::cat({2 * state[0], 0 * state[0], 0 * state[0] - 1}, 1)};
  };
  find({.kind = DecisionKind::kTopK, .k = 2}, [](const at::Tensor& x) { return (2 * x + 1).abs(); });
}

// Several inputs move together, one that has no entry a sample and an index stay.
TEST(Boundary, InputsThatAreNotOneTensor) {
  cases::Case definition = sign_case();
  definition.run = [](State& state) -> Outputs {
    const at::Tensor x = (state[0] + state[1]).index_select(1, state[3]) + state[2];
    return {at::cat({x, -x}, 1)};
  };
  const cases::Fill fill(1, "test-several", "x");
  const State original{{{"a", fill.normal("a", {50, 2})},
                        {"b", fill.normal("b", {50, 2})},
                        {"shift", fill.normal("shift", {1})},
                        {"column", at::ones({1}, at::kLong)},
                        {"names", at::arange(50)}}};
  const Boundary boundary = boundary_inputs(definition, original, {}, 50);
  ASSERT_EQ(boundary.rungs.size(), 6U) << boundary.why_none;
  const State& last = boundary.rungs.back().state;
  EXPECT_EQ(boundary.rungs.back().count, 50);
  EXPECT_FALSE(at::equal(last[0], original[0]));
  EXPECT_FALSE(at::equal(last[1], original[1]));
  for (const std::size_t i : {2, 3, 4}) EXPECT_TRUE(at::equal(last[i], original[i]));
}

TEST(Boundary, NoneWhenAllRowsDecideAlike) {
  const State original{{{"x", at::ones({4, 1})}}};
  const Boundary boundary = boundary_inputs(sign_case(), original, {}, 4);
  EXPECT_TRUE(boundary.rungs.empty());
  EXPECT_EQ(boundary.why_none, "no boundary found: all rows decide alike");
  const State indices{{{"x", at::arange(-2, 2).view({4, 1})}}};
  EXPECT_NE(boundary_inputs(sign_case(), indices, {}, 4).why_none.find("no floating input"),
            std::string::npos);
}

std::string survivor(const Outputs& right, const std::function<bool(const Outputs&)>& accepts,
                     const at::Tensor& stale = {}) {
  Vacuity vacuity;
  vacuity.try_on("ordinary", right, sign_case(), stale, accepts);
  return vacuity.survivor();
}

TEST(Mutants, TheFirstSurvivorIsNamed) {
  const Outputs right{at::arange(6, at::kFloat).view({3, 2})};
  EXPECT_EQ(survivor(right, [](const Outputs&) { return false; }), "");
  EXPECT_EQ(survivor(right, [](const Outputs&) { return true; }), "scores as all zeros, on ordinary inputs");
  const auto only_sum = [&](const Outputs& outputs) { return outputs[0].sum().item<float>() == 15.0F; };
  EXPECT_EQ(survivor(right, only_sum), "scores as one constant, its mean, on ordinary inputs");
}

TEST(Mutants, EqualOnesAreNotApplicable) {
  const auto accept = [](const Outputs&) { return true; };
  EXPECT_EQ(survivor({at::zeros({4, 4})}, accept), "");
  EXPECT_EQ(survivor({at::full({1}, 3.0)}, accept), "scores as all zeros, on ordinary inputs");
}

TEST(Mutants, TheCaseBeforeIsCutOrRepeated) {
  const auto looks_stale = [](const Outputs& outputs) { return outputs[0].max().item<float>() == 7.0F; };
  for (const std::int64_t elements : {1, 4, 100}) {
    EXPECT_EQ(survivor({at::arange(6, at::kFloat).view({3, 2})}, looks_stale, at::full({elements}, 7.0)),
              "scores as the output of the case before, on ordinary inputs");
  }
}

TEST(Mutants, OneThatIsRefusedOnAnyInputIsNoSurvivor) {
  const auto accept = [](const Outputs&) { return true; };
  const auto refuse = [](const Outputs&) { return false; };
  const Outputs right{at::arange(6, at::kFloat).view({3, 2})};
  Vacuity vacuity;
  vacuity.try_on("ordinary", right, sign_case(), {}, accept);
  EXPECT_EQ(vacuity.survivor(), "scores as all zeros, on ordinary inputs");
  vacuity.try_on("integer", {at::zeros({3, 2})}, sign_case(), {}, refuse);  // nothing applies to zeros
  EXPECT_EQ(vacuity.survivor(), "scores as all zeros, on ordinary inputs");
  vacuity.try_on("boundary", right, sign_case(), {}, accept);
  EXPECT_EQ(vacuity.survivor(), "scores as all zeros, on ordinary, boundary inputs");
  vacuity.try_on("integer", right, sign_case(), {}, refuse);
  EXPECT_EQ(vacuity.survivor(), "");
}

}  // namespace
}  // namespace ampgate::validate
