// Calls of two runs that belong together, and predictions for models that call other operators in FP64.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>

#include "cases/fills.h"
#include "precision/formats.h"
#include "session.h"
#include "validate/alignment.h"
#include "validate/case_run.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;
using Names = std::vector<std::string>;
using Partners = std::vector<std::optional<std::size_t>>;

constexpr std::nullopt_t kNone = std::nullopt;

TEST(Alignment, OfEqualRunsIsOneToOne) {
  EXPECT_EQ(align({"a", "b", "a"}, {"a", "b", "a"}), (Partners{0, 1, 2}));
  EXPECT_EQ(align({}, {"a"}), Partners{});
  EXPECT_EQ(align({"a"}, {}), Partners{kNone});
}

TEST(Alignment, SkipsWhatOneRunDoesNotCall) {
  EXPECT_EQ(align({"a", "c"}, {"a", "b", "c"}), (Partners{0, 2}));
  EXPECT_EQ(align({"a", "b", "c"}, {"a", "c"}), (Partners{0, kNone, 1}));
  EXPECT_EQ(align({"x", "a", "y", "b"}, {"a", "z", "z", "b", "w"}), (Partners{kNone, 0, kNone, 3}));
  EXPECT_EQ(align({"a", "b"}, {"c", "d"}), (Partners{kNone, kNone}));
}

// Taking the first partner that comes would lose two of three here.
TEST(Alignment, IsALongestOne) {
  EXPECT_EQ(align({"d", "a", "b", "c"}, {"a", "b", "c", "d", "e"}), (Partners{kNone, 0, 1, 2}));
  const Partners found = align({"l", "m", "l", "r", "s"}, {"m", "l", "l", "r", "m"});
  EXPECT_EQ(found.size() - static_cast<std::size_t>(std::count(found.begin(), found.end(), kNone)), 3U);
}

cases::Case model(Outputs (*run)(State&)) {
  return {.name = "test-branch",
          .dims = {"rows"},
          .suites = {},
          .outputs = {"out"},
          .setup = [](const cases::Shape& shape, const cases::Fill& fill) -> State {
            return {{{"x", fill.normal("x", {shape["rows"], 32})},
                     {"w1", fill.normal("w1", {32, 32}, 0.25), cases::Role::kWeight},
                     {"w2", fill.normal("w2", {32, 32}, 0.25), cases::Role::kWeight}}};
          },
          .run = run,
          .facts = [](const cases::Shape&) -> cases::Facts {
            return {.bound = {.family = cases::Family::kModel}, .meaning = cases::Meaning::kRegression};
          },
          .model = true};
}

results::Json judge(const cases::Case& definition, std::string_view precision) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  CaseRun run(cpu.session, definition, definition.shape({32}), false);
  return run.judge(precision::find(precision));
}

// As T5 does: what FP16 could not hold is clamped there alone.
template <int kError>
Outputs clamped_in_half(State& state) {
  at::Tensor x = at::relu(at::linear(state[0], state[1]));
  if (x.scalar_type() == at::kHalf) x = x.clamp(-64000, 64000) * (1.0 + 0.01 * kError);
  return {at::linear(x, state[2])};
}

TEST(TypeDependentModels, AreJudgedByTheCallsThatBelongTogether) {
  for (const char* precision : {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16"}) {
    const results::Json body = judge(model(clamped_in_half<0>), precision);
    EXPECT_EQ(body.at("verdict"), "pass") << precision << ": " << body.at("reason");
  }
  EXPECT_EQ(judge(model(clamped_in_half<2>), "cast-fp16").at("verdict"), "inaccurate");
}

Outputs other_operators_in_half(State& state) {
  if (!precision::is_16_bit(state[0].scalar_type())) return {at::linear(state[0], state[1])};
  return {at::einsum("ij,kj->ik", {state[0], state[1]}).mul(1.0).add(0.0).sub(0.0)};
}

TEST(TypeDependentModels, WithTooLittleInCommonAreAmbiguous) {
  EXPECT_EQ(judge(model(other_operators_in_half), "fp32").at("verdict"), "pass");
  const results::Json body = judge(model(other_operators_in_half), "cast-fp16");
  EXPECT_EQ(body.at("verdict"), "ambiguous");
  EXPECT_NE(body.at("reason").get<std::string>().find("calls other operators than in the trial"),
            std::string::npos)
      << body.at("reason");
}

Outputs gradient(State& state) {
  const at::AutoGradMode on(true);
  at::Tensor weight = state[1].detach().clone().requires_grad_(true);
  at::linear(at::relu(at::linear(state[0], weight)), state[2]).square().mean().backward();
  return {weight.grad().detach()};
}

Outputs gradient_off_by_a_thousandth(State& state) {
  Outputs outputs = gradient(state);
  if (state[0].scalar_type() == at::kFloat) outputs[0].mul_(1.001);
  return outputs;
}

TEST(TypeDependentModels, ThatRunBackwardAreFollowed) {
  for (const char* precision : {"fp32", "autocast-bf16", "cast-bf16"}) {
    const results::Json body = judge(model(gradient), precision);
    EXPECT_EQ(body.at("verdict"), "pass") << precision << ": " << body.at("reason");
    const double margin = body.at("accuracy").at("kernel_error").at("margin").get<double>();
    EXPECT_GT(margin, 0.1) << precision;  // of the error that is allowed: the prediction means something
  }
  EXPECT_EQ(judge(model(gradient_off_by_a_thousandth), "fp32").at("verdict"), "inaccurate");
}

// The branch depends on what rounding changes.
Outputs operators_by_value(State& state) {
  const at::Tensor y = at::linear(state[0], state[1]);
  static double exact;
  const double value = y[0][0].item<double>();
  if (state[0].scalar_type() == at::kDouble && exact == 0.0) exact = value;
  return {value == exact ? at::relu(y) : at::clamp_min(y, 0.0)};
}

TEST(TypeDependentModels, WhoseOperatorsDependOnValuesAreAmbiguous) {
  const results::Json body = judge(model(operators_by_value), "fp32");
  EXPECT_EQ(body.at("verdict"), "ambiguous") << body.at("reason");
  EXPECT_NE(body.at("reason").get<std::string>().find("depends on its values"), std::string::npos)
      << body.at("reason");
}

}  // namespace
}  // namespace ampgate::validate
