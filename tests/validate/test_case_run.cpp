// Verdicts of whole trials, on kernels that are right and on kernels with one fault each.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cases/fills.h"
#include "session.h"
#include "validate/case_run.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;
using results::Json;

Json judge(const cases::Case& definition, std::string_view precision,
           const std::vector<std::int64_t>& sizes = {32, 24, 64}, const results::Rules& rules = {},
           bool with_edges = false) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  cpu.session.rules = rules;
  CaseRun run(cpu.session, definition, definition.shape(sizes), with_edges);
  return run.judge(precision::find(precision));
}

Outputs right(State& state) { return {at::matmul(state[0], state[1])}; }

// Oracle and bounds run the case in FP64: the faults below are those of lower kernels.
bool is_oracle(const State& state) { return state[0].scalar_type() == at::kDouble; }

TEST(CaseRun, RightKernelPassesInEveryPrecision) {
  for (const char* precision : {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"}) {
    const Json body = judge(matmul_case(right), precision);
    EXPECT_EQ(body.at("verdict"), "pass") << precision << ": " << body.at("reason");
    EXPECT_LE(body.at("accuracy").at("kernel_error").at("margin").get<double>(), 1.0);
    EXPECT_EQ(body.at("accuracy").contains("precision_cost"), std::string(precision) != "fp32");
    EXPECT_TRUE(body.at("accuracy").at("repeatable_in_process").get<bool>());
    EXPECT_EQ(body.at("evidence").at("outputs").at("out").get<std::string>().size(), 32U);
    EXPECT_EQ(body.at("evidence").at("checks").at(0).at("positions").size(), 32U * 24U);
    EXPECT_FALSE(body.at("not_lowered").get<bool>());
  }
}

TEST(CaseRun, HalfAccumulationIsInaccurate) {
  // Partial results in the input's type: right in FP32, a fault in 16 bit.
  const auto split = [](State& state) -> Outputs {
    if (is_oracle(state)) return right(state);
    at::Tensor sum = at::zeros({state[0].size(0), state[1].size(1)}, state[0].options());
    for (std::int64_t k = 0; k < state[0].size(1); k += 8) {
      sum = sum + at::matmul(state[0].narrow(1, k, 8), state[1].narrow(0, k, 8));
    }
    return {sum};
  };
  EXPECT_EQ(judge(matmul_case(split), "fp32").at("verdict"), "pass");
  const Json body = judge(matmul_case(split), "cast-fp16");
  EXPECT_EQ(body.at("verdict"), "inaccurate");
  const auto reason = body.at("reason").get<std::string>();
  EXPECT_NE(reason.find("out["), std::string::npos) << reason;
  EXPECT_NE(reason.find("bound"), std::string::npos) << reason;
}

TEST(CaseRun, FaultyBaselineStopsTheCase) {
  const auto dropped = [](State& state) -> Outputs {
    if (is_oracle(state)) return right(state);
    const auto kept = state[0].size(1) - 1;
    return {at::matmul(state[0].narrow(1, 0, kept), state[1].narrow(0, 0, kept))};
  };
  const Json baseline = judge(matmul_case(dropped), "fp32");
  EXPECT_EQ(baseline.at("verdict"), "inaccurate");
  const Json other = judge(matmul_case(dropped), "cast-fp16");
  EXPECT_EQ(other.at("verdict"), "baseline-invalid");
  EXPECT_NE(other.at("reason").get<std::string>().find(baseline.at("reason").get<std::string>()),
            std::string::npos);
  EXPECT_TRUE(other.at("absent").contains("evidence"));
}

TEST(CaseRun, LoweredFp32ProductsMakeTheBaselineInvalid) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  cpu.session.lowered_fp32 = "matmul of 96 x 96 gives 1 for 1.00073242 x 1 (truncated to TF32, or to BF16)";
  const cases::Case product = matmul_case(right);
  CaseRun run(cpu.session, product, product.shape({8, 8, 8}), false);
  const Json baseline = run.judge(precision::baseline());
  EXPECT_EQ(baseline.at("verdict"), "baseline-invalid");
  EXPECT_NE(baseline.at("reason").get<std::string>().find("truncated to TF32"), std::string::npos);
  EXPECT_EQ(run.judge(precision::find("cast-bf16")).at("verdict"), "baseline-invalid");
  // A case without products does not depend on it.
  const cases::Case& softmax = cases::registry().find("softmax")->second;
  CaseRun other(cpu.session, softmax, softmax.shape({7, 65}), false);
  EXPECT_EQ(other.judge(precision::baseline()).at("verdict"), "pass");
}

TEST(CaseRun, UnwrittenOutputShowsThePoison) {
  const auto unwritten = [](State& state) -> Outputs {
    if (is_oracle(state)) return right(state);
    at::Tensor out = at::empty({state[0].size(0), state[1].size(1)}, state[0].options());
    out.narrow(0, 1, out.size(0) - 1).copy_(at::matmul(state[0], state[1]).narrow(0, 1, out.size(0) - 1));
    return {out};
  };
  const Json body = judge(matmul_case(unwritten), "fp32");
  EXPECT_EQ(body.at("verdict"), "nonfinite") << body.at("reason");
}

TEST(CaseRun, OverflowOnOrdinaryInputsIsNonfiniteThoughTheKernelIsRight) {
  cases::Case definition =
      matmul_case([](State& state) -> Outputs { return {at::matmul(state[0] * 1024, state[1] * 1024)}; });
  definition.facts = [](const cases::Shape&) -> cases::Facts { return {}; };
  EXPECT_EQ(judge(definition, "fp32", {8, 8, 2}).at("verdict"), "suspect");  // by the error ratio alone
  const Json body = judge(definition, "cast-fp16", {8, 8, 2});
  EXPECT_EQ(body.at("verdict"), "nonfinite");
  EXPECT_NE(body.at("reason").get<std::string>().find("FP32 baseline"), std::string::npos)
      << body.at("reason");
}

// FP16 alone overflows and hides it: every operator is right for what it was given.
TEST(CaseRun, SwallowedOverflowIsSaidInTheReason) {
  cases::Case definition = matmul_case([](State& state) -> Outputs {
    const at::Tensor y = at::matmul(state[0], state[1]) * 20000;
    return {at::where(at::isfinite(y), y / 20000, at::zeros_like(y))};
  });
  definition.facts = [](const cases::Shape&) -> cases::Facts { return {}; };
  definition.model = true;
  const Json body = judge(definition, "cast-fp16");
  EXPECT_EQ(body.at("verdict"), "inaccurate") << body.at("reason");
  const auto reason = body.at("reason").get<std::string>();
  EXPECT_NE(reason.find("a NaN or infinity was swallowed on the way: operator 1, aten::mul"),
            std::string::npos)
      << reason;
  EXPECT_NE(reason.find("is beyond FP16's largest finite value 65504; swallowed by operator"),
            std::string::npos)
      << reason;
  EXPECT_NE(reason.find(", aten::where"), std::string::npos) << reason;
}

// Phase 2 can check again what no bound is known for.
TEST(CaseRun, UnknownFamiliesLeaveChecks) {
  cases::Case definition = matmul_case(right);
  definition.facts = [](const cases::Shape&) -> cases::Facts { return {}; };
  const Json body = judge(definition, "cast-bf16", {8, 8, 2});
  ASSERT_EQ(body.at("verdict"), "suspect") << body.at("reason");
  const Json& check = body.at("evidence").at("checks").at(0);
  ASSERT_EQ(check.at("positions").size(), 64U);
  for (std::size_t i = 0; i < 64; ++i) {
    const double width = check.at("high")[i].get<double>() - check.at("low")[i].get<double>();
    EXPECT_GT(width, 0.0);
    EXPECT_LT(width, 1.0);
  }
}

TEST(CaseRun, ExceptionIsTheTrialsVerdict) {
  const auto throws = [](State& state) -> Outputs {
    TORCH_CHECK(state[0].scalar_type() != at::kHalf, "no kernel today");
    TORCH_CHECK_NOT_IMPLEMENTED(state[0].scalar_type() != at::kBFloat16,
                                "\"op\" not implemented for 'BFloat16'");
    return {at::matmul(state[0], state[1])};
  };
  const Json crashed = judge(matmul_case(throws), "cast-fp16");
  EXPECT_EQ(crashed.at("verdict"), "crashed");
  EXPECT_EQ(crashed.at("reason"), "no kernel today");
  EXPECT_EQ(judge(matmul_case(throws), "cast-bf16").at("verdict"), "unsupported");
}

TEST(CaseRun, InfiniteOrdinaryInputIsNamed) {
  cases::Case definition = matmul_case(right);
  definition.setup = [](const cases::Shape& shape, const cases::Fill&) -> State {
    at::Tensor a = at::zeros({shape["m"], shape["k"]});
    a[3][5] = INFINITY;
    return {{{"a", a}, {"b", at::zeros({shape["k"], shape["n"]})}}};
  };
  const Json body = judge(definition, "fp32");
  EXPECT_EQ(body.at("verdict"), "baseline-invalid");
  EXPECT_NE(body.at("reason").get<std::string>().find("'a[3, 5]'"), std::string::npos) << body.at("reason");
}

TEST(CaseRun, ListedPrecisionIsUnsupported) {
  cases::Case definition = matmul_case(right);
  definition.unsupported = {{"cast-fp16", "makes no sense here"}};
  const Json body = judge(definition, "cast-fp16");
  EXPECT_EQ(body.at("verdict"), "unsupported");
  EXPECT_EQ(body.at("reason"), "makes no sense here");
}

TEST(CaseRun, RareFaultInTheRepetitionIsUnrepeatable) {
  static int calls;
  calls = 0;
  const auto second_wrong = [](State& state) -> Outputs {
    if (is_oracle(state)) return right(state);
    at::Tensor out = at::matmul(state[0], state[1]);
    if (++calls == 2) out[0][0] += 1;
    return {out};
  };
  const Json body = judge(matmul_case(second_wrong), "fp32");
  EXPECT_EQ(body.at("verdict"), "unrepeatable");
  EXPECT_FALSE(body.at("accuracy").at("repeatable_in_process").get<bool>());
}

TEST(CaseRun, CheckThatAcceptsWrongResultsIsVacuous) {
  cases::Case definition = matmul_case(right);
  definition.facts = [](const cases::Shape&) -> cases::Facts { return {}; };
  results::Rules rules;
  rules.bounds.error_ratio = 1e12;
  rules.bounds.ill_conditioned = 1e12;
  const Json body = judge(definition, "fp32", {32, 24, 64}, rules);
  EXPECT_EQ(body.at("verdict"), "vacuous");
  EXPECT_NE(body.at("reason").get<std::string>().find("all zeros"), std::string::npos) << body.at("reason");
}

TEST(CaseRun, ChecksHoldAtMost4096Positions) {
  const Json checks = judge(matmul_case(right), "cast-fp16", {128, 64, 16}).at("evidence").at("checks");
  ASSERT_EQ(checks.size(), 1U);
  const auto positions = checks[0].at("positions").get<std::vector<std::int64_t>>();
  ASSERT_EQ(positions.size(), 4096U);
  EXPECT_TRUE(std::adjacent_find(positions.begin(), positions.end(), std::greater_equal<>()) ==
              positions.end());
  EXPECT_LT(positions.back(), 128 * 64);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    EXPECT_LE(checks[0].at("low")[i].get<double>(), checks[0].at("high")[i].get<double>());
  }
}

std::vector<std::string> findings(const cases::Case& definition, std::string_view precision) {
  std::vector<std::string> inputs;
  const Json body = judge(definition, precision, {32, 24, 64}, {}, true);
  for (const auto& finding : body.at("findings")) {
    EXPECT_EQ(finding.at("shape"), "8x8x8");
    inputs.push_back(finding.at("input"));
  }
  return inputs;
}

TEST(EdgeInputs, RightOverflowIsNoFindingAndAClampedOneIs) {
  const std::string large(cases::fill_name(cases::FillKind::kLarge));
  const auto has = [](const auto& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  EXPECT_FALSE(has(findings(matmul_case(right), "cast-fp16"), large));
  const auto clamped = [](State& state) -> Outputs {
    at::Tensor out = at::matmul(state[0], state[1]);
    return {out.scalar_type() == at::kHalf ? out.clamp(-65504, 65504) : out};
  };
  EXPECT_TRUE(has(findings(matmul_case(clamped), "cast-fp16"), large));
  EXPECT_EQ(judge(matmul_case(clamped), "cast-fp16", {32, 24, 64}, {}, true).at("verdict"), "pass");
}

}  // namespace
}  // namespace ampgate::validate
