// Inputs on which one result alone is right: small integers, and every value of a type.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <set>

#include "cases/execute.h"
#include "cases/fills.h"
#include "local_cases.h"
#include "session.h"
#include "validate/case_run.h"
#include "validate/inputs/exact_integers.h"
#include "validate/inputs/freivalds.h"

namespace ampgate::validate {
namespace {

using cases::Family;
using cases::Outputs;
using cases::State;
using results::Json;

const std::vector<const char*> kPrecisions{"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16",
                                           "cast-bf16"};

State ordinary(const cases::Case& definition, const std::vector<std::int64_t>& sizes) {
  const cases::Shape shape = definition.shape(sizes);
  return definition.setup(shape, cases::Fill(1, definition.name, shape.name));
}

ExactIntegers integers(const cases::Case& definition, const std::vector<std::int64_t>& sizes,
                       const char* precision) {
  const at::NoGradGuard no_grad;
  return exact_integers(definition, definition.facts(definition.shape(sizes)), ordinary(definition, sizes),
                        precision::find(precision), 1);
}

Json judge(const cases::Case& definition, const char* precision, const std::vector<std::int64_t>& sizes) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  CaseRun run(cpu.session, definition, definition.shape(sizes), false);
  return run.judge(precision::find(precision));
}

// Whatever the order: no sum of magnitudes exceeds what the type holds as integers.
TEST(ExactIntegers, SumsOfMagnitudesStayWithinTheType) {
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> shapes{
      {"matmul", {7, 9, 100}},
      {"matmul", {5, 6, 20000}},
      {"conv2d", {2, 70, 3, 9, 8, 3}},
      {"sum", {3, 30000}},
      {"cumsum", {3, 5000}},
      {"index_add", {2, 900, 3}},
      {"batched_matmul", {2, 3, 4, 65}}};
  for (const auto& [name, sizes] : shapes) {
    for (const auto& [precision, limit] :
         {std::pair{"fp32", 0x1p24}, {"cast-fp16", 2048.0}, {"cast-bf16", 256.0}}) {
      SCOPED_TRACE(name + ' ' + precision);
      const auto& definition = cases::registry().at(name);
      const ExactIntegers exact = integers(definition, sizes, precision);
      ASSERT_EQ(exact.why_not, "");
      EXPECT_EQ(exact.limit, limit);
      State magnitudes = cases::converted(exact.state, at::kDouble);
      for (auto& entry : magnitudes.tensors) {
        if (!entry.tensor.is_floating_point()) continue;
        EXPECT_TRUE(entry.tensor.eq(entry.tensor.round()).all().item<bool>());
        EXPECT_GT(entry.tensor.abs().sum().item<double>(), 0.0);
        entry.tensor = entry.tensor.abs();
      }
      EXPECT_LE(definition.run(magnitudes)[0].max().item<double>(), limit);
    }
  }
}

TEST(ExactIntegers, AreThereForEveryOperatorThatDoesNotRoundOnThem) {
  std::set<std::string> exact;
  for (const auto& [name, definition] : cases::registry()) {
    if (!definition.model &&
        integers(definition, definition.suites[0].shapes[0], "cast-fp16").why_not.empty())
      exact.insert(name);
  }
  for (const char* name : {"matmul", "batched_matmul", "linear", "conv2d", "conv_transpose2d", "sum",
                           "cumsum", "index_add"}) {
    EXPECT_TRUE(exact.contains(name)) << name;
  }
  for (const char* name : {"softmax", "layer_norm", "exp", "mean", "embedding"})
    EXPECT_FALSE(exact.contains(name)) << name;
  EXPECT_EQ(integers(cases::registry().at("mean"), {3, 64}, "cast-bf16").why_not, "");
}

TEST(ExactIntegers, CorrectKernelsGiveTheRightResultInEveryPrecision) {
  for (const auto& [name, sizes] :
       std::map<std::string, std::vector<std::int64_t>>{{"matmul", {65, 33, 3000}},
                                                        {"conv2d", {2, 5, 7, 9, 11, 3}},
                                                        {"conv_transpose2d", {2, 5, 3, 7, 9, 4}},
                                                        {"sum", {70, 1000}},
                                                        {"mean", {70, 1024}},
                                                        {"cumsum", {7, 1000}},
                                                        {"index_add", {7, 29, 13}},
                                                        {"linear", {7, 33, 19}}}) {
    for (const char* precision : kPrecisions) {
      const Json body = judge(cases::registry().at(name), precision, sizes);
      ASSERT_TRUE(body.at("accuracy").contains("exact_integers")) << name << precision << body.dump();
      EXPECT_TRUE(body.at("accuracy").at("exact_integers").at("equal").get<bool>())
          << name << precision << body.at("reason");
    }
  }
}

// A kernel that goes wrong on integers alone: nothing else sees it.
Outputs off_by_one(State& state) {
  at::Tensor out = at::matmul(state[0], state[1]);
  const bool integral = state[0].eq(state[0].round()).all().item<bool>();
  if (state[0].scalar_type() == at::kBFloat16 && integral) out[out.size(0) - 2][3] += 1.0;
  return {out};
}

TEST(ExactIntegers, OneWrongElementDecidesTheTrial) {
  for (const auto& sizes : {std::vector<std::int64_t>{30, 20, 40}, {600, 500, 64}}) {
    const Json body = judge(matmul_case(off_by_one), "cast-bf16", sizes);
    EXPECT_EQ(body.at("verdict"), "inaccurate");
    const auto reason = body.at("reason").get<std::string>();
    const std::string place = "exact-integer input: out[" + std::to_string(sizes[0] - 2) + ", 3] is ";
    EXPECT_EQ(reason.substr(0, place.size()), place) << reason;
    EXPECT_EQ(body.at("accuracy").at("exact_integers").at("check"),
              sizes[0] == 30 ? "oracle" : "Freivalds' products");
    EXPECT_EQ(judge(matmul_case(off_by_one), "cast-fp16", sizes).at("verdict"), "pass");
  }
}

TEST(ExactIntegers, ScaledProductHasNone) {
  const cases::Case definition =
      matmul_case([](State& state) -> Outputs { return {at::matmul(state[0], state[1]) * 64}; });
  EXPECT_NE(integers(definition, {4, 5, 60}, "cast-fp16").why_not, "");
  const cases::Case third =
      matmul_case([](State& state) -> Outputs { return {at::matmul(state[0], state[1]) / 3}; });
  EXPECT_NE(integers(third, {4, 5, 60}, "cast-fp16").why_not, "");
}

TEST(Freivalds, AxisMustCutOneFactorAndAllThatIsAdded) {
  const auto axis = [](const cases::Case& definition, const std::vector<std::int64_t>& sizes) {
    cases::Facts facts = definition.facts(definition.shape(sizes));
    return linear_axis(facts, ordinary(definition, sizes)) == nullptr;
  };
  EXPECT_FALSE(axis(cases::registry().at("matmul"), {4, 5, 6}));
  EXPECT_TRUE(axis(cases::registry().at("softmax"), {4, 5}));
  cases::Facts biased = local_cases()[0].definition.facts(local_cases()[0].definition.shape({3, 4, 5}));
  const State state = ordinary(local_cases()[0].definition, {3, 4, 5});
  biased.independent = {{0, {{0, 0}}}};  // rows: the bias is added to each
  EXPECT_EQ(linear_axis(biased, state), nullptr);
  biased.independent.push_back({1, {{1, 0}, {2, 0}}});
  ASSERT_NE(linear_axis(biased, state), nullptr);
  EXPECT_EQ(linear_axis(biased, state)->output_dim, 1);
}

TEST(Freivalds, SeesOneWrongElementOfAProduct) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, sizes] : std::map<std::string, std::vector<std::int64_t>>{
           {"matmul", {40, 300, 50}}, {"conv2d", {2, 5, 17, 9, 11, 3}}, {"batched_matmul", {3, 17, 9, 33}}}) {
    const auto& definition = cases::registry().at(name);
    const cases::Facts facts = definition.facts(definition.shape(sizes));
    const ExactIntegers exact = integers(definition, sizes, "fp32");
    State state = exact.state;
    const at::Tensor output = definition.run(state)[0];
    const auto* axis = linear_axis(facts, state);
    ASSERT_NE(axis, nullptr);
    EXPECT_FALSE(wrong_line(definition, *axis, state, output, exact.limit, 1)) << name;
    at::Tensor wrong = output.clone();
    wrong.flatten()[wrong.numel() / 3] -= 1.0;
    const auto line = wrong_line(definition, *axis, state, wrong, exact.limit, 1);
    ASSERT_TRUE(line) << name;
    EXPECT_EQ(line->at(static_cast<std::size_t>(axis->output_dim)), -1);
    wrong.flatten()[wrong.numel() / 3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(wrong_line(definition, *axis, state, wrong, exact.limit, 1)) << name;
  }
}

// A function of one element with one wrong value.
template <int kWrong>
Outputs wrong_exp(State& state) {
  at::Tensor out = at::exp(state[0]);
  if (state[0].scalar_type() != at::kHalf) return {out};
  return {at::where(state[0].eq(kWrong), out * 1.01, out)};
}

cases::Case exp_case(Outputs (*run)(State&)) {
  cases::Case definition = cases::registry().at("exp");
  definition.run = run;
  definition.reference_run = cases::registry().at("exp").run;
  return definition;
}

TEST(DesignedInputs, WhatAnOperatorHasNotIsAbsentWithTheReason) {
  const Json softmax = judge(cases::registry().at("softmax"), "cast-fp16", {3, 40}).at("accuracy");
  for (const char* name : {"exact_integers", "every_value"}) {
    EXPECT_FALSE(softmax.contains(name));
    EXPECT_NE(softmax.at("absent").at(name), "");
  }
}

TEST(EveryValue, OneWrongOrdinaryValueDecides) {
  const Json body = judge(exp_case(wrong_exp<-7>), "cast-fp16", {50});
  EXPECT_EQ(body.at("verdict"), "inaccurate");
  EXPECT_NE(body.at("reason").get<std::string>().find("every float16 value: exp(-7) is "), std::string::npos)
      << body.at("reason");
  EXPECT_EQ(body.at("accuracy").at("every_value").at("rejected"), 1);
  EXPECT_EQ(body.at("accuracy").at("every_value").at("values"), 65536);
}

// Values that ordinary fills never reach, and families that only say "a function of one number".
TEST(EveryValue, LargeValuesAndOtherFunctionsDecideAsWell) {
  const auto with = [](const char* name, Family family, Outputs (*run)(State&)) {
    cases::Case definition = cases::registry().at(name);
    static Family chosen;
    chosen = family;
    definition.name = "test-function";
    definition.facts = [](const cases::Shape&) -> cases::Facts { return {.bound = {.family = chosen}}; };
    definition.run = run;
    return judge(definition, "cast-bf16", {50});
  };
  const Json root = with("sqrt", Family::kSqrt, [](State& state) -> Outputs {
    const at::Tensor out = at::sqrt(state[0]);
    if (state[0].scalar_type() != at::kBFloat16) return {out};
    return {out.masked_fill(state[0].gt(1000.0).logical_and_(state[0].lt(2000.0)), 0.0)};
  });
  EXPECT_EQ(root.at("verdict"), "inaccurate") << root.at("reason");
  const Json rectifier = with("relu", Family::kRelu, [](State& state) -> Outputs {
    const at::Tensor out = at::relu(state[0]);
    if (state[0].scalar_type() != at::kBFloat16) return {out};
    return {out.masked_fill(state[0].gt(1e6), 0.0)};
  });
  EXPECT_EQ(rectifier.at("verdict"), "inaccurate") << rectifier.at("reason");
  const Json other = with("exp", Family::kUnary, [](State& state) -> Outputs {
    const at::Tensor out = at::expm1(state[0]);
    if (state[0].scalar_type() != at::kBFloat16) return {out};
    return {out.masked_fill(state[0].gt(5.5).logical_and_(state[0].lt(9.0)), 0.0)};
  });
  EXPECT_EQ(other.at("verdict"), "inaccurate") << other.at("reason");
  const Json right =
      with("exp", Family::kUnary, [](State& state) -> Outputs { return {at::expm1(state[0])}; });
  EXPECT_EQ(right.at("verdict"), "pass") << right.at("reason");
}

TEST(EveryValue, WrongValuesBeyondOrdinaryOnesAreFindings) {
  const auto has_finding = [](const Json& body, const std::string& text) {
    for (const auto& finding : body.at("findings")) {
      if (finding.at("text").get<std::string>().find(text) != std::string::npos) return true;
    }
    return false;
  };
  // exp(-17) is subnormal in FP16, 4.1e-8: 1 % more is within half a step; exp(1000) overflows.
  const cases::Case definition = exp_case([](State& state) -> Outputs {
    const at::Tensor out = at::exp(state[0]);
    if (state[0].scalar_type() != at::kHalf) return {out};
    return {at::where(state[0].eq(1000.0), at::full_like(out, 65504.0), out)};
  });
  const Json body = judge(definition, "cast-fp16", {50});
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  EXPECT_TRUE(has_finding(body, "exp(1000) is 65504 where inf is right; 1 of ")) << body.at("findings");
  EXPECT_EQ(judge(cases::registry().at("exp"), "cast-fp16", {50}).at("findings"), Json::array());
  // A property of LibTorch's kernel: x (1 + erf) overflows before it is halved.
  EXPECT_TRUE(has_finding(judge(cases::registry().at("gelu_erf"), "cast-bf16", {50}), "129 of "));
}

}  // namespace
}  // namespace ampgate::validate
