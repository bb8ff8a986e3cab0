// Operators that a case file calls: judged by their family where one is known, by the reduction length that
// the file gives, or by the error ratio.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cases/files/operator_case.h"
#include "cases/fills.h"
#include "session.h"
#include "validate/case_run.h"
#include "validate/local/call_bound.h"

namespace ampgate::validate {
namespace {

using cases::Family;
using results::Json;

cases::Case read(const std::string& members) {
  const Json json =
      results::parse_strict(R"({"ampgate_case": 1, "name": "test-call", )" + members + "}", "test");
  std::vector<std::filesystem::path> used;
  const cases::files::Document document(json, "test.json", used);
  return cases::files::operator_cases(document).front();
}

cases::Facts known_facts(const std::string& members) {
  const auto definition = read(members);
  return local::with_family(definition, definition.shape({})).facts(definition.shape({}));
}

Json judge(const cases::Case& definition, const char* precision, std::uint64_t seed = 1) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  cpu.session.seed = seed;
  CaseRun run(cpu.session, definition, definition.shape({}), false);
  return run.judge(precision::find(precision));
}

std::string criterion(const Json& body) {
  return body.at("accuracy").at("kernel_error").at("criterion").get<std::string>();
}

constexpr auto kProduct = R"("operator": "aten::mm", "arguments": [
    {"tensor": {"shape": [8, 512], "fill": "normal", "name": "left"}},
    {"tensor": {"shape": [512, 9], "fill": "normal", "name": "right"}}])";

TEST(CallBound, KnowsTheFamilyOfPlainCalls) {
  const auto product = known_facts(kProduct);
  EXPECT_EQ(product.bound.family, Family::kInnerProduct);
  EXPECT_EQ(product.bound.length, 512);
  ASSERT_EQ(product.bound.reduced.size(), 2);
  EXPECT_EQ(product.bound.reduced[1].tensor, 1);
  EXPECT_EQ(product.bound.reduced[1].dim, 0);
  EXPECT_FALSE(product.independent.empty());
  const auto gelu = known_facts(R"("operator": "aten::gelu", "arguments": [
      {"tensor": {"shape": [3, 5], "fill": "normal"}}], "keywords": {"approximate": "tanh"})");
  EXPECT_EQ(gelu.bound.family, Family::kGeluTanh);
  // The operands the other way round in the argument list than in the state.
  const auto turned = known_facts(R"("tensors": {"w": {"shape": [9, 512], "fill": "normal"},
      "x": {"shape": [8, 512], "fill": "normal"}}, "operator": "aten::linear", "arguments": [{"ref": "x"}, {"ref": "w"}])");
  EXPECT_EQ(turned.bound.family, Family::kInnerProduct);
  EXPECT_EQ(turned.bound.reduced[0].tensor, 1);
}

TEST(CallBound, LeavesToEachTrialWhatDependsOnIt) {
  for (const char* members : {R"("operator": "aten::add.Tensor", "arguments": [
                                  {"tensor": {"shape": [3, 5], "fill": "normal"}},
                                  {"tensor": {"shape": [5], "fill": "normal"}}], "keywords": {"alpha": 0.3})",
                              R"("operator": "aten::addmm", "arguments": [
                                  {"tensor": {"shape": [5], "fill": "normal"}},
                                  {"tensor": {"shape": [3, 4], "fill": "normal"}},
                                  {"tensor": {"shape": [4, 5], "fill": "normal"}}], "keywords": {"beta": 0.5})",
                              R"("operator": "aten::lerp.Scalar", "arguments": [
                                  {"tensor": {"shape": [3], "fill": "normal"}},
                                  {"tensor": {"shape": [3], "fill": "normal"}}, 0.3])"}) {
    EXPECT_EQ(known_facts(members).bound.family, Family::kCall) << members;
  }
}

TEST(CallBound, CorrectCallsPass) {
  const std::vector<std::pair<std::string, const char*>> calls{
      {kProduct, "inner-product bound"},
      {R"("operator": "aten::add.Tensor", "arguments": [{"tensor": {"shape": [33, 65], "fill": "normal"}},
          {"tensor": {"shape": [65], "fill": "normal"}}], "keywords": {"alpha": 0.3})",
       "arithmetic"},
      {R"("operator": "aten::addmm", "arguments": [{"tensor": {"shape": [5], "fill": "normal"}},
          {"tensor": {"shape": [30, 200], "fill": "normal"}}, {"tensor": {"shape": [200, 5], "fill": "normal"}}],
          "keywords": {"alpha": 0.7, "beta": 0.1})",
       "inner-product bound"},
      {R"("operator": "aten::linalg_vector_norm", "arguments": [{"tensor": {"shape": [40, 300], "fill": "normal"}},
          2, [1]], "reduction_length": 300)",
       "conditioning bound"},
      {R"("operator": "aten::lerp.Scalar", "arguments": [{"tensor": {"shape": [500], "fill": "normal"}},
          {"tensor": {"shape": [500], "fill": "normal"}}, 0.3], "reduction_length": 3)",
       "conditioning bound"}};
  for (const auto& [members, wanted] : calls) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      for (const char* precision : {"fp32", "cast-bf16", "autocast-bf16"}) {
        const Json body = judge(read(members), precision, seed);
        EXPECT_EQ(body.at("verdict"), "pass") << members << precision << seed << ": " << body.at("reason");
        EXPECT_NE(criterion(body).find(wanted), std::string::npos) << members << ": " << criterion(body);
      }
    }
  }
}

// The same calls with sums kept in BF16, and with one term in 64 left out.
TEST(CallBound, WrongOnesAreRefused) {
  const auto norm = [](auto&& of_squares) {
    cases::Case definition = read(
        R"("operator": "aten::linalg_vector_norm", "arguments": [
            {"tensor": {"shape": [40, 512], "fill": "normal"}}, 2, [1]], "reduction_length": 512)");
    definition.run = [of_squares](cases::State& state) -> cases::Outputs {
      const bool low = state[0].scalar_type() == at::kBFloat16;
      if (!low) return {at::linalg_vector_norm(state[0], 2, 1)};
      return {of_squares(state[0].to(at::kFloat)).sqrt().to(at::kBFloat16)};
    };
    return definition;
  };
  const auto in_bf16 = norm([](const at::Tensor& x) {
    at::Tensor sum = at::zeros({x.size(0)}, at::kBFloat16);
    for (std::int64_t k = 0; k < x.size(1); ++k) sum = sum + x.select(1, k).square().to(at::kBFloat16);
    return sum.to(at::kFloat);
  });
  EXPECT_EQ(judge(in_bf16, "cast-bf16").at("verdict"), "inaccurate");
  const auto short_of_terms =
      norm([](const at::Tensor& x) { return x.square().narrow(1, 0, x.size(1) - x.size(1) / 64).sum(1); });
  EXPECT_EQ(judge(short_of_terms, "cast-bf16").at("verdict"), "inaccurate");
  const auto right = norm([](const at::Tensor& x) { return x.square().sum(1); });
  EXPECT_EQ(judge(right, "cast-bf16").at("verdict"), "pass");
}

TEST(CallBound, WithoutAnyKnowledgeTheErrorRatioDecides) {
  const Json body = judge(read(R"("operator": "aten::lerp.Scalar", "arguments": [
      {"tensor": {"shape": [500], "fill": "normal"}}, {"tensor": {"shape": [500], "fill": "normal"}}, 0.3])"),
                          "cast-bf16");
  EXPECT_EQ(body.at("verdict"), "suspect");
  EXPECT_EQ(criterion(body), "error ratio");
}

// LibTorch takes the exponent in the tensor's own type: 2.2 is no FP32 number.
TEST(CallBound, NumbersAmongTheArgumentsMayBeRounded) {
  for (const char* precision : {"fp32", "cast-fp16", "cast-bf16"}) {
    const Json body = judge(read(R"("operator": "aten::pow.Tensor_Scalar", "arguments": [
        {"tensor": {"shape": [20000], "fill": {"uniform": {"low": 0, "high": 1}}}}, 2.2])"),
                            precision);
    EXPECT_EQ(body.at("verdict"), "pass") << precision << body.at("reason");
  }
}

// 0.3 is a number of no floating type, and each kernel reads it as it likes: the results are right either
// way, and another number's are not.
TEST(CallBound, NumbersThatJumpMayBeRounded) {
  for (const char* op : {"fmod.Scalar", "remainder.Scalar", "floor_divide.Scalar", "hardshrink", "gt.Scalar",
                         "le.Scalar", "softshrink"}) {
    const std::string members =
        std::string(R"("operator": "aten::)") + op +
        R"(", "arguments": [{"tensor": {"shape": [40, 100], "fill": "normal"}}, 0.3])";
    for (const char* precision : {"fp32", "cast-fp16", "cast-bf16"}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Json body = judge(read(members), precision, seed);
        EXPECT_TRUE(body.at("verdict") == "pass" || body.at("verdict") == "suspect")
            << op << precision << seed << body.at("verdict") << body.at("reason");
      }
      cases::Case wrong = read(members);
      const cases::Case other = read(std::string(members).replace(members.rfind("0.3"), 3, "0.32"));
      wrong.run = other.run;
      const auto verdict = judge(wrong, precision).at("verdict");
      EXPECT_TRUE(verdict == "inaccurate" || verdict == "baseline-invalid") << op << precision << verdict;
    }
  }
}

TEST(CallBound, WhatDependsOnTheTypeIsOfTheTrials) {
  const std::vector<std::string> calls{
      R"("operator": "aten::nan_to_num", "arguments": [{"tensor": {"values": [1, "nan", "inf", "-inf", 0.5]}}])",
      R"("operator": "aten::nan_to_num", "arguments": [{"tensor": {"values": [1, "nan", "inf", "-inf", 0.5]}}, 0.1, 0.3])",
      R"("operator": "aten::nextafter", "arguments": [{"tensor": {"shape": [23, 77], "fill": "normal"}},
          {"tensor": {"shape": [23, 77], "fill": "normal"}}])"};
  for (const auto& members : calls) {
    for (const char* precision : {"fp32", "cast-fp16", "cast-bf16"}) {
      cases::Case definition = read(members);
      definition.file_sha256 = "as loaded";
      const Json body = judge(definition, precision);
      EXPECT_TRUE(body.at("verdict") == "pass" || body.at("verdict") == "suspect")
          << members << precision << body.at("reason");
    }
  }
}

TEST(CallBound, InterpolationKnowsItsCoordinatesInFp32) {
  const auto call = [](const std::string& sizes, const char* corners) {
    return read(R"("operator": "aten::upsample_bilinear2d", "arguments": [
        {"tensor": {"shape": [2, 3, 64, 60], "fill": "normal"}}, )" +
                sizes + ", " + corners + "]");
  };
  for (const char* sizes : {"[201, 133]", "[45, 45]", "[31, 17]"}) {
    for (const char* precision : {"fp32", "cast-fp16", "cast-bf16"}) {
      const Json body = judge(call(sizes, "false"), precision);
      EXPECT_TRUE(body.at("verdict") == "pass" || body.at("verdict") == "suspect")
          << sizes << precision << body.at("reason");
    }
    cases::Case wrong = call(sizes, "false");
    wrong.run = call(sizes, "true").run;
    EXPECT_EQ(judge(wrong, "fp32").at("verdict"), "inaccurate") << sizes;
  }
}

// Where the inputs of 16 bit hit a jump the kernel is exact, and FP64 moved by a rounding is not.
TEST(CallBound, JumpsAreNoIllConditioning) {
  const auto members = [](const char* op) {
    return std::string(R"("operator": "aten::)") + op + R"(", "arguments": [
        {"tensor": {"shape": [23, 77], "fill": "normal"}},
        {"tensor": {"shape": [23, 77], "fill": {"uniform": {"low": 0.3, "high": 2}}}}])";
  };
  for (const char* op : {"fmod.Tensor", "remainder.Tensor", "floor_divide"}) {
    for (const char* precision : {"fp32", "cast-fp16", "cast-bf16"}) {
      const Json body = judge(read(members(op)), precision);
      EXPECT_TRUE(body.at("verdict") == "pass" || body.at("verdict") == "suspect")
          << op << precision << body.at("verdict") << body.at("reason");
    }
  }
  cases::Case wrong = read(members("remainder.Tensor"));
  wrong.run = [](cases::State& state) -> cases::Outputs { return {at::fmod(state[0], state[1])}; };
  EXPECT_EQ(judge(wrong, "fp32").at("verdict"), "inaccurate");
}

// LibTorch's mse_loss rounds the difference to 16 bit before it is squared; its prod keeps the product there.
TEST(CallBound, ResultsKeptIn16BitOnTheWay) {
  const Json square = judge(read(R"("operator": "aten::mse_loss", "arguments": [
      {"tensor": {"shape": [23, 77], "fill": "normal"}}, {"tensor": {"shape": [23, 77], "fill": "normal"}}, 0])"),
                            "cast-bf16");
  EXPECT_EQ(square.at("verdict"), "suspect") << square.at("reason");
  const Json product = judge(read(R"("operator": "aten::prod.dim_int", "arguments": [
      {"tensor": {"shape": [23, 77], "fill": {"uniform": {"low": 0.9, "high": 1.1}}}}, 1])"),
                             "cast-bf16");
  EXPECT_EQ(product.at("verdict"), "inaccurate") << product.at("reason");
}

// Rows computed alone are the same rows, whatever they hold.
TEST(CallBound, NaNAndInfinityAreNoFaultOfTheCase) {
  for (const char* op : {"aten::exp", "aten::sigmoid", "aten::sqrt", "aten::relu"}) {
    cases::Case definition = read(std::string(R"("operator": ")") + op + R"(", "arguments": [
        {"tensor": {"values": [0, "inf", "-inf", "nan", "-0.0", "0x1.8p-3", -1]}}])");
    definition.file_sha256 = "as loaded";
    for (const char* precision : {"fp32", "cast-fp16", "cast-bf16"}) {
      const Json body = judge(definition, precision);
      EXPECT_EQ(body.at("verdict"), "pass") << op << precision << body.at("reason");
    }
  }
}

constexpr auto kCell = R"("operator": "aten::gru_cell", "arguments": [
    {"tensor": {"shape": [32, 64], "fill": "normal", "name": "x"}},
    {"tensor": {"shape": [32, 48], "fill": "normal", "name": "h"}},
    {"tensor": {"shape": [144, 64], "fill": {"normal": {"scale": 0.125}}, "name": "w"}},
    {"tensor": {"shape": [144, 48], "fill": {"normal": {"scale": 0.125}}, "name": "u"}}])";

// Its sum and logarithm are 16 bit, which no order of FP32 additions explains.
TEST(CallBound, PartsCountWhateverTheReductionLength) {
  for (const char* precision : {"fp32", "cast-fp16", "cast-bf16"}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Json body = judge(read(R"("operator": "aten::logsumexp", "arguments": [
          {"tensor": {"shape": [64, 100], "fill": "normal"}}, [1]], "reduction_length": 100)"),
                              precision, seed);
      EXPECT_EQ(body.at("verdict"), "pass") << precision << seed << ": " << body.at("reason");
      EXPECT_NE(criterion(body).find("replay"), std::string::npos) << criterion(body);
    }
  }
  cases::Case wrong = read(R"("operator": "aten::logsumexp", "arguments": [
      {"tensor": {"shape": [64, 100], "fill": "normal"}}, [1]])");
  const auto short_of_terms = [](const at::Tensor& x) { return at::logsumexp(x.narrow(1, 0, 96), 1); };
  wrong.run = [=](cases::State& state) -> cases::Outputs { return {short_of_terms(state[0])}; };
  EXPECT_EQ(judge(wrong, "fp32").at("verdict"), "inaccurate");
  wrong.run = [=](cases::State& state) -> cases::Outputs {
    const bool low = state[0].scalar_type() == at::kBFloat16;
    return {low ? short_of_terms(state[0]) : at::logsumexp(state[0], 1)};
  };
  EXPECT_EQ(judge(wrong, "cast-bf16").at("verdict"), "inaccurate");
}

// Comparisons within it see the values, and so does autocast's detour.
TEST(CallBound, LossesThatCompareAreNotVacuous) {
  for (const char* precision : {"fp32", "autocast-fp16", "autocast-bf16", "cast-bf16"}) {
    const Json body = judge(read(R"("operator": "aten::hinge_embedding_loss", "arguments": [
        {"tensor": {"shape": [23, 77], "fill": "normal"}}, {"tensor": {"shape": [23, 77], "fill": "ones"}}])"),
                            precision);
    EXPECT_EQ(body.at("verdict"), "pass") << precision << ": " << body.at("reason");
  }
}

// What names no type is FP64 in FP64.
TEST(CallBound, FactoriesHaveAnOracle) {
  for (const char* members :
       {R"("operator": "aten::linspace", "arguments": [0.1, 2.3, 37], "keywords": {"device": "device"})",
        R"("operator": "aten::hann_window", "arguments": [37], "keywords": {"device": "device"})",
        R"("operator": "aten::div.Tensor", "arguments": [
                                  {"tensor": {"shape": [40], "fill": {"integers": {"high": 99}}}},
                                  {"tensor": {"shape": [40], "fill": {"integers": {"low": 1, "high": 99}}}}])"}) {
    const Json body = judge(read(members), "fp32");
    EXPECT_TRUE(body.at("verdict") == "pass" || body.at("verdict") == "suspect")
        << members << body.at("verdict") << body.at("reason");
  }
}

TEST(CallBound, OperatorsMadeOfOthersAreJudgedByTheirParts) {
  for (const char* precision : {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"}) {
    const Json body = judge(read(kCell), precision);
    EXPECT_EQ(body.at("verdict"), "pass") << precision << ": " << body.at("reason");
    EXPECT_NE(criterion(body).find("replay"), std::string::npos) << criterion(body);
  }
  cases::Case wrong = read(kCell);
  wrong.run = [](cases::State& state) -> cases::Outputs {
    // The products of one term in 32 are left out.
    const at::Tensor x = state[0].narrow(1, 0, 62);
    return {at::gru_cell(x, state[1], state[2].narrow(1, 0, 62), state[3])};
  };
  EXPECT_NE(judge(wrong, "fp32").at("verdict"), "pass");
  EXPECT_NE(judge(wrong, "cast-bf16").at("verdict"), "pass");
}

// What an operator makes of NaN is not predicted by random rounding.
TEST(CallBound, ValuesThatAreNotFiniteAreLeftToTheErrorRatio) {
  cases::Case definition = read(R"("operator": "aten::nanmean", "arguments": [
      {"tensor": {"values": [[1.5, "nan", 2.25], [4.0, 0.5, "nan"]]}}, [1]])");
  definition.file_sha256 = "as loaded";  // only the cases of files may be given NaN
  const Json body = judge(definition, "fp32");
  EXPECT_EQ(body.at("verdict"), "suspect") << body;
  EXPECT_EQ(criterion(body), "error ratio");
}

TEST(CallBound, TypesThatTheFileAsksForMayComeOut) {
  const auto definition = read(R"("operator": "aten::to.dtype", "arguments": [
      {"tensor": {"shape": [400], "fill": "normal"}}, "bfloat16"])");
  for (const char* precision : {"fp32", "cast-fp16", "autocast-fp16"})
    EXPECT_EQ(judge(definition, precision).at("verdict"), "pass")
        << precision << judge(definition, precision);
}

}  // namespace
}  // namespace ampgate::validate
