#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cases/execute.h"
#include "cases/fills.h"
#include "validate/boundary.h"
#include "validate/decisions.h"
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
  const auto rungs = boundary_inputs(definition, original, {});
  ASSERT_EQ(rungs.size(), 4U);
  for (const auto& rung : rungs) {
    const at::Tensor& x = rung.state[0];
    EXPECT_EQ(x.scalar_type(), at::kFloat);
    EXPECT_EQ(x.size(0), 128);
    EXPECT_EQ(rung.rows_below, 128);
    EXPECT_LT((2 * x.abs()).max().item<double>(), rung.margin);
  }
}

TEST(Boundary, NoneWhenAllRowsDecideAlike) {
  const State original{{{"x", at::ones({4, 1})}}};
  EXPECT_TRUE(boundary_inputs(sign_case(), original, {}).empty());
}

TEST(Mutants, TheFirstSurvivorIsNamed) {
  const cases::Case definition = sign_case();
  const Outputs right{at::arange(6, at::kFloat).view({3, 2})};
  EXPECT_EQ(surviving_mutant(right, definition, [](const Outputs&) { return false; }), "");
  EXPECT_EQ(surviving_mutant(right, definition, [](const Outputs&) { return true; }), "scores as all zeros");
  const auto only_sum = [&](const Outputs& outputs) { return outputs[0].sum().item<float>() == 15.0F; };
  EXPECT_EQ(surviving_mutant(right, definition, only_sum), "scores as one constant, its mean");
}

TEST(Mutants, EqualOnesAreNotApplicable) {
  const auto accept = [](const Outputs&) { return true; };
  EXPECT_EQ(surviving_mutant({at::zeros({4, 4})}, sign_case(), accept), "");
  EXPECT_EQ(surviving_mutant({at::full({1}, 3.0)}, sign_case(), accept), "scores as all zeros");
}

}  // namespace
}  // namespace ampgate::validate
