// Cases with a compiler between their run and its operators: what is timed decides, what can be seen
// explains.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cases/execute.h"
#include "cases/fills.h"
#include "precision/region.h"
#include "session.h"
#include "validate/case_run.h"
#include "validate/replay.h"

namespace ampgate::validate {
namespace {

using cases::Facts;
using cases::Outputs;
using cases::Shape;
using cases::State;
using results::Json;

using Run = Outputs (*)(State&);

Outputs two_layers(State& state) {
  const auto first = [](const at::Tensor& x, const at::Tensor& w) { return at::relu(at::linear(x, w)); };
  return {at::linear(precision::region("first", first, state[0], state[1]), state[2])};
}

// Its operators are at work, and their results are scaled where the type is 16 bit.
Outputs two_layers_wrong_in_16_bit(State& state) {
  Outputs outputs = two_layers(state);
  if (outputs[0].scalar_type() == at::kBFloat16) outputs[0] = outputs[0] * 1.25;
  return outputs;
}

cases::Case compiled(Run run, Run observed) {
  return {.name = "test-compiled",
          .dims = {"rows"},
          .suites = {},
          .outputs = {"out"},
          .setup = [](const Shape& shape, const cases::Fill& fill) -> State {
            return {{{"x", fill.normal("x", {shape["rows"], 64})},
                     {"w1", fill.normal("w1", {64, 64}, 0.125), cases::Role::kWeight},
                     {"w2", fill.normal("w2", {8, 64}, 0.125), cases::Role::kWeight}}};
          },
          .run = run,
          .facts = [](const Shape&) -> Facts { return {.bound = {.family = cases::Family::kModel}}; },
          .observed_run = observed,
          .observed_as = "the parts",
          .model = true};
}

Json judge(const cases::Case& definition, const char* precision) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  CaseRun run(cpu.session, definition, definition.shape({48}), false);
  return run.judge(precision::find(precision));
}

std::vector<std::string> names(const Json& operators) {
  std::vector<std::string> list;
  for (const auto& record : operators) list.push_back(record.at("name").get<std::string>());
  return list;
}

bool has_finding(const Json& body, const std::string& part) {
  for (const auto& finding : body.at("findings")) {
    if (finding.at("text").get<std::string>().find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(ObservedRun, TheTimedRunDecides) {
  const Json right = judge(compiled(two_layers, two_layers), "cast-bf16");
  EXPECT_EQ(right.at("verdict"), "pass") << right.at("reason");
  EXPECT_FALSE(has_finding(right, "the parts"));
  const Json wrong = judge(compiled(two_layers_wrong_in_16_bit, two_layers), "cast-bf16");
  EXPECT_EQ(wrong.at("verdict"), "inaccurate");
  EXPECT_TRUE(has_finding(wrong, "what explains it is the parts, which gives another output ("));
  // What phase 2 will see.
  const auto timed = names(wrong.at("evidence").at("operators"));
  EXPECT_NE(std::find(timed.begin(), timed.end(), "aten::mul"), timed.end());
  // Only what explains is wrong: nothing that is timed.
  const Json explained = judge(compiled(two_layers, two_layers_wrong_in_16_bit), "cast-bf16");
  EXPECT_EQ(explained.at("verdict"), "pass") << explained.at("reason");
}

// One call for everything, as a compiler would make it.
Outputs in_one_call(State& state) {
  return {at::linear(at::relu(at::matmul(state[0], state[1].t())), state[2])};
}

TEST(ObservedRun, PredictsFromWhatBothHave) {
  const Json body = judge(compiled(in_one_call, two_layers), "autocast-bf16");
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  const double margin = body.at("accuracy").at("kernel_error").at("margin").get<double>();
  EXPECT_GT(margin, 0.1);
  EXPECT_LT(margin, 1.0);
}

// The casts that TorchScript's optimiser writes into a graph are operators of their own.
TEST(ObservedRun, CastsInTheGraphAreRoundings) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = at::rand({4, 8});
  const at::Tensor w = at::rand({3, 8});
  CallRecorder recorder;
  {
    const InterceptScope scope(recorder);
    const auto lowered = [](const at::Tensor& tensor) {
      return tensor._autocast_to_reduced_precision(false, true, at::kHalf, at::kBFloat16);
    };
    at::linear(lowered(x), lowered(w));
  }
  const auto calls = recorder.take();
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[2].name, "aten::linear");
  EXPECT_EQ(calls[2].rounded.front(), at::kBFloat16);
  EXPECT_EQ(calls[2].rounded_inputs, (std::vector<std::size_t>{0, 1}));
}

// Nothing can be seen inside, and other compiled code is what is right.
cases::Case opaque(double error) {
  return {.name = "test-opaque",
          .dims = {"rows"},
          .suites = {},
          .outputs = {"out"},
          .setup = [](const Shape& shape, const cases::Fill& fill) -> State {
            return {{{"x", fill.normal("x", {shape["rows"], 64})}}};
          },
          .run = [error](State& state) -> Outputs {
            const at::Tensor exact = state[0].to(at::kFloat) * 3.0;
            const at::Tensor sign = at::arange(exact.numel()).remainder(2).mul(2).sub(1).view(exact.sizes());
            const double low = state[0].scalar_type() == at::kBFloat16 ? error : 0.0;
            return {(exact + low * 3.0 * sign).to(state[0].scalar_type())};
          },
          .facts = [](const Shape&) -> Facts {
            return {.bound = {.family = cases::Family::kRelative, .eps = 0.02}};
          },
          .reference_run = [](State& state) -> Outputs { return {state[0] * 3.0}; },
          .opaque = "it is compiled"};
}

TEST(OpaqueCase, IsHeldToTheRelativeLimitOfItsFile) {
  const Json close = judge(opaque(0.0), "cast-bf16");
  EXPECT_EQ(close.at("verdict"), "suspect") << close.at("reason");
  EXPECT_EQ(close.at("accuracy").at("kernel_error").at("criterion"), "relative limit of the case");
  EXPECT_TRUE(has_finding(close, "it is compiled"));
  EXPECT_FALSE(close.at("not_lowered").get<bool>());
  EXPECT_EQ(judge(opaque(0.03), "cast-bf16").at("verdict"), "inaccurate");
}

}  // namespace
}  // namespace ampgate::validate
