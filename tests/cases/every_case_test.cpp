// What holds for every registered case, tried on its smoke shapes.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cstring>
#include <regex>
#include <set>

#include "cases/execute.h"
#include "cases/fills.h"
#include "cases/independent.h"

namespace ampgate::cases {
namespace {

using at::Tensor;

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.sizes() == y.sizes() && x.scalar_type() == y.scalar_type() &&
         std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

// Root mean square of the difference, relative to that of the reference.
double relative_error(const Tensor& actual, const Tensor& reference) {
  const Tensor expected = reference.to(at::kDouble);
  const Tensor error = actual.to(at::kDouble) - expected;
  return (error.norm() / expected.norm()).item<double>();
}

class EveryCase : public testing::TestWithParam<std::string> {
 protected:
  const Case& definition() const { return registry().find(GetParam())->second; }
  // The smallest: suites go from small to large.
  Shape shape() const { return definition().shape(definition().suites.at(0).shapes.at(0)); }
  State setup(FillKind kind = FillKind::kOrdinary) const {
    return definition().setup(shape(), Fill(1, GetParam(), shape().name, kind));
  }
  Outputs oracle() const {
    State state = converted(setup(), at::kDouble);
    return definition().reference_run != nullptr ? definition().reference_run(state)
                                                 : definition().run(state);
  }

 private:
  at::NoGradGuard no_grad_;
};

TEST_P(EveryCase, HasANameAndShapesInEverySuite) {
  EXPECT_TRUE(std::regex_match(definition().name, std::regex("[a-z0-9_.-]+")));
  std::vector<std::string> suites;
  std::set<std::string> names;
  std::size_t count = 0;
  for (const auto& [suite, shapes] : definition().suites) {
    suites.push_back(suite);
    for (const auto& sizes : shapes) names.insert(definition().shape(sizes).name);
    count += shapes.size();
    EXPECT_FALSE(shapes.empty()) << suite;
  }
  if (definition().training) {
    EXPECT_EQ(suites.front(), "training");  // and in others with the same shapes
    return;
  }
  EXPECT_EQ(suites, (std::vector<std::string>{"smoke", "standard", "large"}));
  EXPECT_EQ(names.size(), count) << "a shape stands in two places";
}

TEST_P(EveryCase, SetsUpTheSameFiniteTensorsEachTime) {
  const State first = setup();
  const State second = setup();
  std::set<std::string> names;
  ASSERT_EQ(first.tensors.size(), second.tensors.size());
  for (std::size_t i = 0; i < first.tensors.size(); ++i) {
    const Tensor& tensor = first[i];
    EXPECT_TRUE(names.insert(first.tensors[i].name).second) << first.tensors[i].name;
    EXPECT_TRUE(same_bits(tensor, second[i])) << first.tensors[i].name;
    EXPECT_TRUE(tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kLong);
    EXPECT_TRUE(tensor.isfinite().all().item<bool>()) << first.tensors[i].name;
    EXPECT_TRUE(tensor.is_non_overlapping_and_dense()) << first.tensors[i].name;
  }
}

// Bounds on the relative error are an order above what 16-bit inputs and weights cost: they find wrong
// operands only.
TEST_P(EveryCase, RunsInEveryPrecisionAndLeavesItsInputsAlone) {
  const State original = setup();
  const Outputs expected = oracle();
  for (const auto& precision : precision::all()) {
    SCOPED_TRACE(precision.name);
    State state = prepare(original, precision, at::kCPU);
    const State before = prepare(original, precision, at::kCPU);
    const Outputs outputs = execute(definition(), state, precision, at::kCPU);
    ASSERT_EQ(outputs.size(), definition().outputs.size());
    const double limit = precision.mode == precision::Mode::kNative ? 1e-5
                         : precision.type == at::kHalf              ? 0.01
                                                                    : 0.08;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(outputs[i].sizes(), expected[i].sizes());
      EXPECT_LE(relative_error(outputs[i], expected[i]), limit);
    }
    for (std::size_t i = 0; i < state.tensors.size(); ++i) {
      EXPECT_TRUE(same_bits(state[i], before[i])) << state.tensors[i].name;
    }
  }
}

TEST_P(EveryCase, TakesEdgeInputsWithoutAnError) {
  for (const FillKind kind : edge_fills()) {
    State state = setup(kind);
    EXPECT_NO_THROW(definition().run(state)) << fill_name(kind);
  }
}

TEST_P(EveryCase, NamesTensorsThatAreThere) {
  const State state = setup();
  const Facts facts = definition().facts(shape());
  EXPECT_EQ(definition().model, facts.bound.family == Family::kModel);
  EXPECT_EQ(facts.decisions.has_value(), facts.meaning == Meaning::kScores);
  if (facts.decisions) {
    ASSERT_NE(state.find(facts.decisions->labels), nullptr);
    EXPECT_EQ(state.find(facts.decisions->labels)->scalar_type(), at::kLong);
    EXPECT_LT(facts.decisions->output, definition().outputs.size());
  }
  if (!facts.targets.empty()) {
    ASSERT_NE(state.find(facts.targets), nullptr);
    EXPECT_EQ(state.find(facts.targets)->sizes(), oracle()[0].sizes());
  }
  for (const auto& [tensor, elements] : facts.elements_read) {
    EXPECT_LE(elements, static_cast<double>(state[tensor].numel())) << state.tensors[tensor].name;
  }
}

TEST_P(EveryCase, DoesNotReadWhatItSaysItDoesNot) {
  State state = setup();
  const Outputs before = definition().run(state);
  for (const auto& [tensor, elements] : definition().facts(shape()).elements_read) {
    if (elements == 0.0) state.tensors[tensor].tensor.fill_(-12345);
  }
  EXPECT_TRUE(same_bits(definition().run(state)[0], before[0]));
}

// With ones everywhere an inner product counts its own terms.
TEST_P(EveryCase, InnerProductsHaveTheLengthTheySay) {
  const BoundSpec bound = definition().facts(shape()).bound;
  if (bound.family != Family::kInnerProduct) return;
  State state = converted(setup(), at::kDouble);
  for (auto& entry : state.tensors) entry.tensor.fill_(1.0);
  EXPECT_EQ(definition().run(state)[0].max().item<double>(), static_cast<double>(bound.length));
  ASSERT_FALSE(bound.reduced.empty());
  const auto size = [&](const Axis& axis) { return state[axis.tensor].size(axis.dim); };
  for (const Axis& axis : bound.reduced) EXPECT_EQ(size(axis), size(bound.reduced[0]));
}

// In FP64 a run on some positions gives those positions of the whole run.
TEST_P(EveryCase, SlicesOfIndependentAxesCanBeComputedAlone) {
  const State whole = converted(setup(), at::kDouble);
  const Outputs expected = oracle();
  const Facts facts = definition().facts(shape());
  if (expected[0].dim() > 0 && !definition().training) {
    EXPECT_FALSE(facts.independent.empty());
  }
  for (const IndependentAxis& axis : facts.independent) {
    SCOPED_TRACE("output dimension " + std::to_string(axis.output_dim));
    ASSERT_FALSE(axis.operands.empty());
    const std::int64_t size = expected[0].size(axis.output_dim);
    for (const Axis& operand : axis.operands) {
      ASSERT_EQ(whole[operand.tensor].size(operand.dim), size);
    }
    const Tensor positions = at::tensor({size - 1, size / 3, std::int64_t{0}}, at::kLong);
    State slice = select(whole, axis, positions);
    const Outputs outputs = definition().run(slice);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor rows = select(expected[i], axis, positions);
      ASSERT_EQ(outputs[i].sizes(), rows.sizes());
      EXPECT_TRUE(at::allclose(outputs[i], rows, 1e-11, 1e-12)) << (outputs[i] - rows).abs().max();
    }
  }
}

// Those of the suite `examples` go wrong on purpose: tests/programs/test_examples.py.
INSTANTIATE_TEST_SUITE_P(Registry, EveryCase, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, definition] : registry())
                             if (definition.suites[0].suite != "examples") names.push_back(name);
                           return names;
                         }()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace ampgate::cases
