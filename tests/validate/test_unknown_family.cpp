// Operators of no known family: judged by the error ratio and by a limit for each element.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cases/fills.h"
#include "session.h"
#include "validate/case_run.h"

namespace ampgate::validate {
namespace {

using cases::Facts;
using cases::Outputs;
using cases::Shape;
using cases::State;
using results::Json;

cases::Case unknown(Outputs (*run)(State&)) {
  return {.name = "test-unknown",
          .dims = {"elements"},
          .suites = {},
          .outputs = {"out"},
          .setup = [](const Shape& shape, const cases::Fill& fill) -> State {
            return {{{"a", fill.normal("a", {shape["elements"]})}, {"b", fill.normal("b", {shape["elements"]})}}};
          },
          .run = run,
          .facts = [](const Shape&) -> Facts { return {}; }};
}

Json judge(const cases::Case& definition, const char* precision, std::int64_t elements,
           std::uint64_t seed = 1) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  cpu.session.seed = seed;
  CaseRun run(cpu.session, definition, definition.shape({elements}), false);
  return run.judge(precision::find(precision));
}

// One result, whose rounding may be luckily small, and whose sum may cancel.
TEST(UnknownFamily, CorrectSumsOfOneElementAreNotRefused) {
  const std::vector<Outputs (*)(State&)> operators{
      [](State& state) -> Outputs { return {at::dot(state[0], state[1])}; },
      [](State& state) -> Outputs { return {at::linalg_vector_norm(state[0])}; },
      [](State& state) -> Outputs { return {at::mse_loss(state[0], state[1])}; }};
  for (std::size_t i = 0; i < operators.size(); ++i) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      for (const char* precision : {"fp32", "cast-bf16"}) {
        const Json body = judge(unknown(operators[i]), precision, 1000, seed);
        EXPECT_EQ(body.at("verdict"), "suspect")
            << "operator " << i << " seed " << seed << ' ' << precision << ": " << body.at("reason");
      }
    }
  }
}

TEST(UnknownFamily, OneWrongElementOfMillionIsRefused) {
  const auto one_wrong = [](State& state) -> Outputs {
    at::Tensor out = at::sin(state[0]);
    if (state[0].scalar_type() == at::kBFloat16) out[777] += 0.2;
    return {out};
  };
  const Json body = judge(unknown(one_wrong), "cast-bf16", 1'000'000);
  EXPECT_EQ(body.at("verdict"), "inaccurate");
  EXPECT_NE(body.at("reason").get<std::string>().find("out[777] is "), std::string::npos) << body.at("reason");
  const Json& error = body.at("accuracy").at("kernel_error");
  EXPECT_EQ(error.at("position"), Json({777}));
  EXPECT_EQ(error.at("max_abs_error_position"), Json({777}));
  EXPECT_NEAR(error.at("max_abs_error").get<double>(), 0.2, 0.01);
  EXPECT_GT(error.at("rms_limit").get<double>(), error.at("rms_error").get<double>());
}

TEST(UnknownFamily, ErrorEverywhereAndTruncationAreRefused) {
  const auto off = [](State& state) -> Outputs {
    return {at::sin(state[0]) * (state[0].scalar_type() == at::kHalf ? 1.01 : 1.0)};
  };
  EXPECT_EQ(judge(unknown(off), "cast-fp16", 4096).at("verdict"), "inaccurate");
  const auto truncates = [](State& state) -> Outputs {
    if (state[0].scalar_type() != at::kBFloat16) return {at::sin(state[0])};
    return {at::sin(state[0].to(at::kFloat)).view(at::kInt).bitwise_and(-65536).view(at::kFloat).to(at::kBFloat16)};
  };
  EXPECT_EQ(judge(unknown(truncates), "cast-bf16", 4096).at("verdict"), "inaccurate");
}

TEST(UnknownFamily, NaNIsNamedWithItsPlace) {
  const auto spoils = [](State& state) -> Outputs {
    at::Tensor out = at::sin(state[0]);
    if (state[0].scalar_type() == at::kHalf) out[5] = std::numeric_limits<float>::quiet_NaN();
    return {out};
  };
  const Json body = judge(unknown(spoils), "cast-fp16", 4096);
  EXPECT_EQ(body.at("verdict"), "nonfinite");
  EXPECT_NE(body.at("reason").get<std::string>().find("out[5] is nan"), std::string::npos) << body.at("reason");
}

TEST(UnknownFamily, NothingComparedIsVacuous) {
  const auto nothing = [](State& state) -> Outputs { return {state[0].narrow(0, 0, 0).clone()}; };
  EXPECT_EQ(judge(unknown(nothing), "fp32", 64).at("verdict"), "vacuous");
}

}  // namespace
}  // namespace ampgate::validate
