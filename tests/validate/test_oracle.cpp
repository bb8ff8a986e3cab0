#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cases/execute.h"
#include "trial.h"
#include "validate/oracle.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;

// Two tensors and an index that must never be converted.
cases::Case add_case() {
  return {.name = "add",
          .dims = {"n"},
          .suites = {},
          .outputs = {"out"},
          .setup = nullptr,
          .run = [](State& state) -> Outputs { return {state[0] + state[1]}; },
          .facts = nullptr};
}

State add_state() {
  return {{{"x", at::tensor(std::vector<float>{1.0f + 0x1p-12f, 70000.0f, 3.0f})},
           {"y", at::tensor(std::vector<float>{1.0f, 2.0f, 3.0f})},
           {"index", at::tensor(std::vector<std::int64_t>{1, 2, 3}, at::kLong)}}};
}

RoundedInputs rounded(std::string_view name, c10::ScalarType output,
                      const cases::Case& definition = add_case()) {
  const State original = add_state();
  const auto& precision = precision::find(name);
  return rounded_inputs(definition, original, cases::prepare(original, precision, at::kCPU), precision,
                        output);
}

double first(const RoundedInputs& inputs) { return inputs.state[0][0].item<double>(); }

TEST(RoundedInputs, NativeTakesThemAsTheyAre) {
  const RoundedInputs inputs = rounded("fp32", at::kFloat);
  EXPECT_EQ(first(inputs), 1.0 + 0x1p-12);
  EXPECT_EQ(inputs.operand_type, at::kFloat);
  EXPECT_TRUE(inputs.overflowed.empty());
  EXPECT_EQ(inputs.state[0].scalar_type(), at::kDouble);
  EXPECT_EQ(inputs.state[2].scalar_type(), at::kLong);
}

TEST(RoundedInputs, CastTakesWhatWasPreparedWhateverTheOutput) {
  for (const auto output : {at::kHalf, at::kFloat}) {
    const RoundedInputs inputs = rounded("cast-fp16", output);
    EXPECT_EQ(first(inputs), 1.0);
    EXPECT_EQ(inputs.operand_type, at::kHalf);
    EXPECT_EQ(inputs.overflowed, std::vector<std::string>{"x"});
    EXPECT_TRUE(inputs.state[0][1].isinf().item<bool>());
  }
  EXPECT_TRUE(rounded("cast-bf16", at::kBFloat16).overflowed.empty());
}

TEST(RoundedInputs, AutocastRoundsToTheOutputsTypeWhereItWasLowered) {
  const RoundedInputs lowered = rounded("autocast-fp16", at::kHalf);
  EXPECT_EQ(first(lowered), 1.0);
  EXPECT_EQ(lowered.operand_type, at::kHalf);
  EXPECT_EQ(lowered.overflowed, std::vector<std::string>{"x"});
  const RoundedInputs kept = rounded("autocast-fp16", at::kFloat);
  EXPECT_EQ(first(kept), 1.0 + 0x1p-12);
  EXPECT_EQ(kept.operand_type, at::kFloat);
  EXPECT_TRUE(kept.overflowed.empty());
}

TEST(RoundedInputs, ModelsAreNotRoundedForAutocast) {
  cases::Case model = add_case();
  model.model = true;
  EXPECT_EQ(first(rounded("autocast-bf16", at::kBFloat16, model)), 1.0 + 0x1p-12);
  EXPECT_EQ(first(rounded("cast-bf16", at::kBFloat16, model)), 1.0);
}

TEST(Oracle, RunsInFloat64) {
  const Outputs outputs = oracle(add_case(), rounded("fp32", at::kFloat).state);
  EXPECT_EQ(outputs[0].scalar_type(), at::kDouble);
  EXPECT_EQ(outputs[0][0].item<double>(), 2.0 + 0x1p-12);
}

TEST(Oracle, PrefersTheReference) {
  cases::Case definition = add_case();
  definition.reference_run = [](State& state) -> Outputs { return {state[0] * 0.0}; };
  EXPECT_EQ(oracle(definition, rounded("fp32", at::kFloat).state)[0].sum().item<double>(), 0.0);
}

TEST(Oracle, LeavesItsInputsAlone) {
  cases::Case definition = add_case();
  definition.run = [](State& state) -> Outputs { return {state[0].add_(1.0)}; };
  const State state = rounded("fp32", at::kFloat).state;
  oracle(definition, state);
  EXPECT_EQ(state[0][2].item<double>(), 3.0);
}

TEST(Oracle, RefusesOutputsThatAreNotItsOwn) {
  cases::Case definition = add_case();
  definition.run = [](State& state) -> Outputs { return {state[0].to(at::kFloat)}; };
  const State inputs = rounded("fp32", at::kFloat).state;
  EXPECT_THROW(oracle(definition, inputs), std::logic_error);
  definition.run = [](State& state) -> Outputs { return {state[0], state[1]}; };
  EXPECT_THROW(oracle(definition, inputs), std::logic_error);
}

// A query that is NaN makes its row NaN; LibTorch's fused CPU kernel answers 0, in FP64 too.
TEST(Oracle, OfAttentionKeepsNan) {
  const auto& definition = cases::registry().at("scaled_dot_product_attention");
  State state{{{"query", at::randn({1, 1, 4, 8}, at::kDouble)},
               {"key", at::randn({1, 1, 4, 8}, at::kDouble)},
               {"value", at::randn({1, 1, 4, 8}, at::kDouble)}}};
  state.tensors[0].tensor[0][0][2].fill_(NAN);
  const at::Tensor out = oracle(definition, state)[0];
  EXPECT_TRUE(out[0][0][2].isnan().all().item<bool>());
  EXPECT_FALSE(out[0][0][1].isnan().any().item<bool>());
}

}  // namespace
}  // namespace ampgate::validate
