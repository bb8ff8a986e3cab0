// Edge inputs: what they are, that correct kernels give no finding on them, and that faults do.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cases/fills.h"
#include "local_cases.h"
#include "session.h"
#include "validate/edge_inputs.h"
#include "validate/inputs/edge_shapes.h"
#include "validate/inputs/layouts.h"
#include "validate/inputs/patterns.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;

std::vector<EdgeFinding> findings(const cases::Case& definition, const char* precision) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  return edge_findings(cpu.session, definition, precision::find(precision));
}

const EdgeFinding* about(const std::vector<EdgeFinding>& all, const std::string& input) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const EdgeFinding& one) { return one.finding.input == input; });
  return found == all.end() ? nullptr : &*found;
}

cases::Case edge_matmul(Outputs (*run)(State&)) {
  cases::Case definition = matmul_case(run);
  definition.suites = {{"smoke", {{9, 10, 12}}}};
  definition.reference_run = [](State& state) -> Outputs { return {at::matmul(state[0], state[1])}; };
  return definition;
}

TEST(EdgeInputs, CorrectProductGivesNoFinding) {
  const cases::Case definition =
      edge_matmul([](State& state) -> Outputs { return {at::matmul(state[0], state[1])}; });
  for (const char* precision : {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"}) {
    for (const auto& [finding, shape] : findings(definition, precision)) {
      ADD_FAILURE() << precision << ' ' << shape << ' ' << finding.input << ' ' << finding.verdict << ' '
                    << finding.text;
    }
  }
}

TEST(EdgeInputs, FaultsGiveFindings) {
  const auto swallows_nan = [](State& state) -> Outputs {
    return {at::nan_to_num(at::matmul(state[0], state[1]), 0.0, INFINITY, -INFINITY)};
  };
  ASSERT_NE(about(findings(edge_matmul(swallows_nan), "cast-bf16"), "nan a"), nullptr);

  const auto ignores_strides = [](State& state) -> Outputs {
    const at::Tensor& a = state[0];
    return {at::matmul(a.as_strided(a.sizes(), {a.size(1), 1}), state[1])};
  };
  const auto strides = findings(edge_matmul(ignores_strides), "fp32");
  EXPECT_NE(about(strides, "transposed"), nullptr);
  EXPECT_NE(about(strides, "strided"), nullptr);
  EXPECT_EQ(about(strides, "sorted rows"), nullptr);

  const auto stops_at_4096 = [](State& state) -> Outputs {
    const std::int64_t k = std::min<std::int64_t>(4096, state[0].size(1));
    return {at::matmul(state[0].narrow(1, 0, k), state[1].narrow(0, 0, k))};
  };
  const auto deep = findings(edge_matmul(stops_at_4096), "fp32");
  ASSERT_NE(about(deep, "long reduction"), nullptr);
  EXPECT_EQ(about(deep, "long reduction")->shape, "4x4x32768");
  EXPECT_EQ(deep.size(), 1U);

  const auto empty_is_one = [](State& state) -> Outputs {
    if (state[0].size(1) == 0) return {at::ones({state[0].size(0), state[1].size(1)}, state[0].options())};
    return {at::matmul(state[0], state[1])};
  };
  const auto nothing = findings(edge_matmul(empty_is_one), "cast-fp16");
  ASSERT_EQ(nothing.size(), 1U);
  EXPECT_EQ(nothing[0].finding.input, "empty");
  EXPECT_EQ(nothing[0].shape, "9x10x0");

  const auto saturates = [](State& state) -> Outputs {
    return {at::matmul(state[0], state[1]).clamp(-65504.0, 65504.0)};
  };
  EXPECT_NE(about(findings(edge_matmul(saturates), "cast-fp16"), "large"), nullptr);
}

// Some kernels make a NaN of all bits, which is not memory that nobody wrote.
TEST(EdgeInputs, CrashNoRegisteredOperator) {
  for (const auto& [name, definition] : cases::registry()) {
    if (definition.model) continue;
    for (const char* precision : {"fp32", "cast-bf16"}) {
      for (const auto& [finding, shape] : findings(definition, precision))
        EXPECT_NE(finding.verdict, "crashed") << name << ' ' << precision << ' ' << finding.input << ": " << finding.text;
    }
  }
}

// FP16 partial sums in the subnormal range are off by half a step each, whatever their size.
TEST(EdgeInputs, SubnormalPartialSumsAreAllowedWherePartialSumsAre) {
  for (const auto& [finding, shape] : findings(cases::registry().at("conv_transpose2d"), "cast-fp16"))
    EXPECT_EQ(finding.input.find("subnormal"), std::string::npos) << finding.input << ": " << finding.text;
}

TEST(EdgeInputs, AreTriedWithoutASuiteNamedSmoke) {
  cases::Case definition = edge_matmul([](State& state) -> Outputs {
    return {at::nan_to_num(at::matmul(state[0], state[1]), 0.0, INFINITY, -INFINITY)};
  });
  definition.suites = {{"large", {{2048, 2048, 2048}}}, {"mine", {{9, 10, 12}, {90, 10, 12}}}};
  const auto found = findings(definition, "cast-bf16");
  ASSERT_NE(about(found, "nan a"), nullptr);
  EXPECT_EQ(about(found, "nan a")->shape, "9x10x12");
  definition.suites = {{"large", {{2048, 2048, 8192}}}};
  const auto none = findings(definition, "cast-bf16");
  ASSERT_EQ(none.size(), 1U);
  EXPECT_NE(none[0].finding.text.find("not tried"), std::string::npos);
}

// A row that no index reaches says nothing.
TEST(EdgeInputs, NaNAndInfinityLieWhereAnIndexReachesThem) {
  cases::Case definition = cases::registry().at("embedding");
  definition.reference_run = definition.run;
  definition.run = [](State& state) -> Outputs {
    return {at::nan_to_num(at::embedding(state[0], state[1]), 0.0, 65504.0, -65504.0)};
  };
  for (const char* precision : {"fp32", "cast-bf16"}) {
    const auto found = findings(definition, precision);
    EXPECT_NE(about(found, "nan"), nullptr) << precision;
    EXPECT_NE(about(found, "infinite"), nullptr) << precision;
  }
}

// 0·inf at the border of a padded convolution is NaN for a kernel that multiplies padding, and absent for one
// that does not: both are right, inside neither has a choice.
TEST(EdgeInputs, PaddedBordersHaveTwoRightResults) {
  for (const bool inside : {false, true}) {
    static bool spoil_inside;
    spoil_inside = inside;
    cases::Case definition = cases::registry().at("conv2d");
    definition.run = [](State& state) -> Outputs {
      at::Tensor out = at::conv2d(state[0], state[1], {}, 1, 1);
      if (state[0].scalar_type() == at::kDouble || state[1].isfinite().all().item<bool>()) return {out};
      if (spoil_inside) {
        out.slice(2, 1, -1).slice(3, 1, -1).fill_(0.0);
      } else {
        out.slice(2, 0, 1).masked_fill_(out.slice(2, 0, 1).isnan(), 1.0);
      }
      return {out};
    };
    const auto found = findings(definition, "fp32");
    EXPECT_EQ(about(found, "infinite weight") != nullptr, inside);
    EXPECT_EQ(about(found, "nan weight") != nullptr, inside);
  }
}

TEST(EdgeInputs, LayoutsKeepValuesAndChangeStrides) {
  const State state{{{"x", at::randn({2, 3, 4, 5})}, {"v", at::randn({3})}, {"i", at::arange(4)}}};
  for (const Layout layout : all_layouts()) {
    const auto other = laid_out(state, layout);
    ASSERT_TRUE(other);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(at::equal((*other)[i], state[i]));
    EXPECT_FALSE((*other)[0].is_contiguous()) << layout_name(layout);
  }
  EXPECT_FALSE(laid_out(State{{{"v", at::randn({3})}}}, Layout::kChannelsLast));
}

TEST(EdgeInputs, PatternsFollowTheReducedAxes) {
  const auto& definition = cases::registry().at("matmul");
  const cases::Shape shape = definition.shape({5, 6, 8});
  const auto bound = definition.facts(shape).bound;
  const State ordinary = definition.setup(shape, cases::Fill(1, "matmul", shape.name));
  const State constant = *arranged(bound, ordinary, Pattern::kConstant);
  EXPECT_TRUE(constant[0].eq(ordinary[0].narrow(1, 0, 1)).all().item<bool>());
  EXPECT_TRUE(constant[1].eq(ordinary[1].narrow(0, 0, 1)).all().item<bool>());
  const State sorted = *arranged(bound, ordinary, Pattern::kSorted);
  EXPECT_TRUE(sorted[0].diff(1, 1).ge(0).all().item<bool>());
  EXPECT_TRUE(sorted[1].ge(0).all().item<bool>());
  const State far = *arranged(bound, ordinary, Pattern::kFarMean);
  EXPECT_NEAR(far[0].mean().item<double>(), 100.0, 1.0);
  EXPECT_TRUE(at::equal(far[1], ordinary[1]));
  State cancelling = *arranged(bound, ordinary, Pattern::kCancellation);
  EXPECT_LT(definition.run(cancelling)[0].abs().max().item<double>(), 0.05);
  const auto& softmax = cases::registry().at("softmax");
  EXPECT_FALSE(arranged(softmax.facts(softmax.shape({3, 4})).bound, ordinary, Pattern::kCancellation));
}

TEST(EdgeInputs, LongShapesEnlargeWhatIsAddedUp) {
  EXPECT_EQ(long_shape(cases::registry().at("softmax"))->name, "4x32768");
  EXPECT_EQ(long_shape(cases::registry().at("embedding")), std::nullopt);
  const auto conv = long_shape(cases::registry().at("conv2d"));
  ASSERT_TRUE(conv);
  EXPECT_GT(cases::registry().at("conv2d").facts(*conv).bound.length, 8192);
}

TEST(EdgeInputs, ModelSaysWhereItsInputsOverflow) {
  EXPECT_TRUE(findings(cases::registry().at("mlp_regressor"), "fp32").empty());
  EXPECT_TRUE(findings(cases::registry().at("mlp_regressor"), "cast-bf16").empty());
  const auto half = findings(cases::registry().at("mlp_regressor"), "cast-fp16");
  ASSERT_EQ(half.size(), 1U);
  EXPECT_EQ(half[0].finding.input, "scaled inputs");
  EXPECT_NE(half[0].finding.text.find(" times as large prediction["), std::string::npos)
      << half[0].finding.text;
}

}  // namespace
}  // namespace ampgate::validate
