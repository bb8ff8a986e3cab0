// LibTorch's own CPU kernels stay within their bounds on ordinary inputs: no element rejected, at any
// precision.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "local_cases.h"
#include "trial.h"

namespace ampgate::validate {
namespace {

const std::vector<std::string> kPrecisions{"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16",
                                           "cast-bf16"};

// Shapes beside the suites': long sums, single elements, sizes that leave remainders in every vector loop.
const std::map<std::string, std::vector<std::vector<std::int64_t>>> kMoreShapes{
    {"matmul", {{1, 1, 1}, {5, 7, 2048}, {3, 9, 8192}, {33, 17, 257}}},
    {"batched_matmul", {{2, 3, 5, 1000}}},
    {"linear", {{9, 1023, 31}}},
    {"conv2d", {{1, 70, 3, 6, 5, 3}}},
    {"conv_transpose2d", {{1, 33, 4, 5, 6, 4}}},
    {"layer_norm", {{3, 4097}, {5, 2}}},
    {"rms_norm", {{3, 4097}, {5, 2}}},
    {"group_norm", {{1, 8, 31, 33}}},
    {"softmax", {{3, 5001}, {4, 1}}},
    {"log_softmax", {{3, 5001}, {4, 9}}},
    {"cross_entropy", {{300, 11}, {2, 3000}}},
    {"sum", {{3, 50000}, {5, 1}}},
    {"mean", {{3, 50000}, {5, 1}}},
    {"cumsum", {{2, 20000}}},
    {"index_add", {{2, 60, 5}, {50, 3, 4}}},
    {"scaled_dot_product_attention", {{1, 2, 200, 64}, {1, 1, 1, 8}}},
};

void expect_accepted(const cases::Case& definition, const std::vector<std::int64_t>& sizes) {
  for (const auto& precision : kPrecisions) {
    for (const std::uint64_t seed : {1, 2}) {
      if (seed > 1 && precision.starts_with("autocast")) continue;
      const Trial trial(definition, sizes, precision, seed);
      const Comparison c = trial.judge();
      const bool fp16_partials =
          trial.facts.bound.fp16_partials > 1 && trial.outputs[0].scalar_type() == at::kHalf;
      const bool stored_root = trial.facts.bound.family == cases::Family::kRsqrt;
      EXPECT_TRUE(c.accepted() || ((fp16_partials || stored_root) && c.suspect()))
          << definition.shape(sizes).name << ' ' << precision << " seed " << seed << ": " << describe(c);
      EXPECT_EQ(trial.bound.hard.defined(), !trial.bound.hard_source.empty());
      EXPECT_EQ(c.judged, c.elements);
      EXPECT_TRUE(trial.judge(trial.rounded_oracle()).accepted());
    }
  }
}

class Kernels : public testing::TestWithParam<std::string> {};

TEST_P(Kernels, OfRegisteredCases) {
  const auto& definition = cases::registry().at(GetParam());
  for (const auto& suite : definition.suites) {
    if (suite.suite != "smoke") continue;
    for (const auto& sizes : suite.shapes) expect_accepted(definition, sizes);
  }
  const auto more = kMoreShapes.find(GetParam());
  if (more == kMoreShapes.end()) return;
  for (const auto& sizes : more->second) expect_accepted(definition, sizes);
}

std::vector<std::string> bounded_cases() {
  std::vector<std::string> names;
  for (const auto& [name, definition] : cases::registry()) {
    if (!definition.model &&
        has_bound(definition.facts(definition.shape(definition.suites[0].shapes[0])).bound.family)) {
      names.push_back(name);
    }
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(bounded_cases()),
                         [](const auto& test) { return test.param; });

TEST(Bounds, OfOtherForms) {
  for (const auto& [definition, shapes] : local_cases()) {
    SCOPED_TRACE(definition.name);
    for (const auto& sizes : shapes) expect_accepted(definition, sizes);
  }
}

TEST(Bounds, NoFamilyWithoutAFormulaHasOne) {
  EXPECT_FALSE(has_bound(cases::Family::kModel));
  cases::Case definition = local_cases()[0].definition;
  definition.facts = [](const cases::Shape&) -> cases::Facts {
    return {.bound = {.family = cases::Family::kModel}};
  };
  EXPECT_THROW(Trial(definition, {2, 3, 4}, "fp32"), std::invalid_argument);
}

TEST(Bounds, MisdescribedCasesAreRefused) {
  cases::Case definition = local_cases()[0].definition;
  definition.facts = [](const cases::Shape&) -> cases::Facts {
    return {.bound = {.family = cases::Family::kInnerProduct, .length = 3, .reduced = {{0, 1}, {1, 0}}}};
  };
  EXPECT_THROW(Trial(definition, {2, 3, 4}, "fp32"), std::logic_error) << "axes of unequal length";
  definition.facts = [](const cases::Shape&) -> cases::Facts {
    return {.bound = {.family = cases::Family::kRmsNorm, .length = 3}};
  };
  EXPECT_NO_THROW(Trial(definition, {2, 3, 4}, "fp32"));
  definition.facts = [](const cases::Shape&) -> cases::Facts {
    return {.bound = {.family = cases::Family::kIndexAdd, .dims = {0}}};
  };
  EXPECT_THROW(Trial(definition, {2, 3, 4}, "fp32"), std::logic_error) << "no tensor 'self'";
}

// Integers whose sums stay exact in FP32: whatever the order of summation, the result is the oracle.
TEST(Bounds, ExactIntegersLieWithinTheHardBoundOfConstantRows) {
  cases::Case definition = cases::registry().at("matmul");
  definition.setup = [](const cases::Shape& shape, const cases::Fill&) -> cases::State {
    return {
        {{"a", at::full({shape["m"], shape["k"]}, 3.0f)}, {"b", at::full({shape["k"], shape["n"]}, 1.0f)}}};
  };
  const Trial trial(definition, {4, 8, 4096}, "fp32");
  EXPECT_TRUE(at::equal(trial.outputs[0].to(at::kDouble), trial.oracle[0]));
  EXPECT_TRUE(trial.bound.hard.ge(trial.bound.error).all().item<bool>());
  // γ_K·S by hand.
  const double ku = 4096 * 0x1p-24;
  EXPECT_NEAR(trial.bound.hard[0][0].item<double>(), ku / (1 - ku) * 3 * 4096, 1e-6);
}

// Against the formula, computed term by term in another way.
TEST(Bounds, InnerProductAgreesWithItsFormula) {
  const Trial trial("matmul", {2, 3, 20}, "fp32");
  const at::Tensor terms =
      trial.inputs.state[0].unsqueeze(1) * trial.inputs.state[1].t().unsqueeze(0);  // (2, 3, 20)
  const at::Tensor y = terms.sum(-1);
  const at::Tensor q = terms.square().sum(-1);
  const at::Tensor any_order = 20 * y.square() / 3 + (20 * q - y.square()).clamp_min(0) / 6 + q;
  const at::Tensor t = at::maximum(any_order, terms.cumsum(-1).square().sum(-1)).sqrt();
  const double ku = 20 * 0x1p-24;
  const at::Tensor expected = at::minimum(4 * 0x1p-24 * t, ku / (1 - ku) * terms.abs().sum(-1));
  EXPECT_TRUE(at::allclose(trial.bound.error, expected, 1e-9, 1e-30));
}

// Rows of one subnormal value whose sums are not subnormal.
TEST(Bounds, FlushedSubnormalsAreAllowedForBF16AndFP32Only) {
  for (const auto& [precision, value, allowed] :
       {std::tuple{"fp32", 0x1p-130, true}, {"cast-bf16", 0x1p-130, true}, {"cast-fp16", 0x1p-20, false}}) {
    cases::Case definition = cases::registry().at("matmul");
    definition.setup = [v = value](const cases::Shape& shape, const cases::Fill&) -> cases::State {
      return {
          {{"a", at::full({shape["m"], shape["k"]}, v)}, {"b", at::full({shape["k"], shape["n"]}, 0x1p10)}}};
    };
    const Trial trial(definition, {2, 8, 16}, precision);
    const Comparison zeros = trial.judge(at::zeros_like(trial.outputs[0]));
    EXPECT_EQ(zeros.rejected == 0, allowed) << precision << describe(zeros);
  }
}

TEST(Bounds, ZerosMustGiveZeros) {
  for (const auto* name : {"matmul", "sum", "cumsum", "conv2d", "silu"}) {
    const auto& definition = cases::registry().at(name);
    const Trial trial(definition, definition.suites[0].shapes[0], "fp32", 1, cases::FillKind::kZeros);
    EXPECT_TRUE(trial.judge().accepted()) << name;
    EXPECT_EQ(trial.judge().ill_conditioned, 0) << name;
    EXPECT_FALSE(trial.judge(trial.outputs[0] + 1e-30f).accepted()) << name;
  }
}

TEST(Bounds, MaskedLogitsDoNotSpoilTheirRow) {
  cases::Case definition = cases::registry().at("softmax");
  definition.setup = [](const cases::Shape& shape, const cases::Fill& fill) -> cases::State {
    at::Tensor x = fill.normal("x", {shape["rows"], shape["width"]});
    x.select(1, 3).fill_(-INFINITY);
    return {{{"x", x}}};
  };
  for (const auto& precision : kPrecisions) {
    const Trial trial(definition, {4, 65}, precision);
    EXPECT_TRUE(trial.bound.error.isfinite().all().item<bool>());
    EXPECT_TRUE(trial.judge().accepted()) << precision;
  }
}

// One-pass variance in FP32 at mean 1e4: the error is the input's, and E says so.
TEST(Bounds, GroupNormFarFromZeroIsIllConditioned) {
  cases::Case definition = cases::registry().at("group_norm");
  definition.setup = [](const cases::Shape& shape, const cases::Fill& fill) -> cases::State {
    const std::int64_t channels = shape["channels"];
    return {
        {{"x", fill.normal("x", {shape["batch"], channels, shape["height"], shape["width"]}, 0x1p-8) + 1e4},
         {"weight", at::ones({channels})},
         {"bias", at::zeros({channels})}}};
  };
  EXPECT_TRUE(Trial(definition, {2, 16, 20, 20}, "fp32").judge().undecided());
}

// More than one thread: each thread's part of a full sum is stored in the tensor's type. One pass is not
// excused.
TEST(Bounds, StoredPartsOfALongSumAreSuspect) {
  const cases::Case definition = local_cases().at(4).definition;
  ASSERT_EQ(definition.name, "sum_of_all");
  for (const char* precision : {"cast-fp16", "cast-bf16"}) {
    const Trial trial(definition, {16, 64, 100}, precision);
    const Comparison c = trial.judge();
    EXPECT_TRUE(c.accepted() || c.suspect()) << describe(c);
    EXPECT_EQ(trial.bound.hard_source, "another order, or parts stored in 16 bit,");
    const at::Tensor x = trial.inputs.state[0].flatten();
    const at::Tensor parts = at::stack({x.narrow(0, 0, 51200).sum(), x.narrow(0, 51200, 51200).sum()})
                                 .to(trial.outputs[0].scalar_type())
                                 .to(at::kDouble);
    EXPECT_EQ(trial.judge(parts.sum().to(trial.outputs[0].scalar_type())).rejected, 0);
    EXPECT_FALSE(trial.judge(trial.rounded_oracle() + 8).accepted());
    EXPECT_EQ(Trial(definition, {4, 64, 100}, precision).bound.hard_source, "another order of summation");
  }
}

TEST(Bounds, SixteenBitIndexAddSaysThatItAccumulatesIn16Bit) {
  EXPECT_FALSE(Trial("index_add", {7, 29, 13}, "cast-bf16").bound.finding.empty());
  EXPECT_TRUE(Trial("index_add", {7, 29, 13}, "fp32").bound.finding.empty());
}

}  // namespace
}  // namespace ampgate::validate
