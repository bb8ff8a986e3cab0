// Operators that reach beyond their tensors, and such that are right at some addresses only.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "session.h"
#include "validate/case_run.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;
using results::Json;

Json judge(Outputs (*run)(State&)) {
  const at::NoGradGuard no_grad;
  CpuSession cpu;
  const cases::Case definition = matmul_case(run);
  CaseRun judging(cpu.session, definition, definition.shape({5, 7, 9}), false);
  return judging.judge(precision::find("cast-fp16"));
}

Outputs right(State& state) { return {at::matmul(state[0], state[1])}; }

bool is_trial(const State& state) { return state[0].scalar_type() == at::kHalf; }

// The element `number` after the first of the state's second tensor, which has 63.
float element(const State& state, std::int64_t number) {
  return static_cast<float>(
      static_cast<const volatile c10::Half*>(state[1].const_data_ptr<c10::Half>())[number].x);
}

void expect_crashed(const Json& body, const std::string& words) {
  EXPECT_EQ(body.at("verdict"), "crashed") << body.at("reason");
  EXPECT_NE(body.at("reason").get<std::string>().find(words), std::string::npos) << body.at("reason");
  const Json& found = body.at("accuracy").at("surroundings");
  EXPECT_FALSE(found.at("right").get<bool>());
  EXPECT_NE(found.at("reached").get<std::string>().find(words), std::string::npos);
}

TEST(Surroundings, ARightOperatorIsRightEverywhere) {
  const Json body = judge(right);
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  EXPECT_EQ(body.at("accuracy").at("surroundings"),
            (Json{{"check", "guarded pages"}, {"runs", 2}, {"right", true}}));
}

TEST(Surroundings, ReadingBehindWithoutEffect) {
  expect_crashed(judge([](State& state) -> Outputs {
                   if (is_trial(state)) static_cast<void>(element(state, state[1].numel()));
                   return right(state);
                 }),
                 "reads beyond the end of 'b' (element 1 behind its last)");
}

TEST(Surroundings, ReadingBehindTimesZero) {
  const Json body = judge([](State& state) -> Outputs {
    Outputs outputs = right(state);
    if (is_trial(state)) {
      const auto* values = state[1].const_data_ptr<c10::Half>();
      outputs[0].add_(0.0f * static_cast<float>(values[state[1].numel() + 3]));
    }
    return outputs;
  });
  expect_crashed(body, "reads beyond the end of 'b' (element 4 behind its last)");
}

TEST(Surroundings, ReadingBefore) {
  expect_crashed(judge([](State& state) -> Outputs {
                   if (is_trial(state)) static_cast<void>(element(state, -2));
                   return right(state);
                 }),
                 "reads before the beginning of 'b' (element 2 before its first)");
}

TEST(Surroundings, WritingBehindItsOwnOutput) {
  const Json body = judge([](State& state) -> Outputs {
    Outputs outputs = right(state);
    if (is_trial(state)) {
      auto* const behind = outputs[0].mutable_data_ptr<c10::Half>() + outputs[0].numel();
      *static_cast<volatile std::uint16_t*>(&behind->x) = 0;
    }
    return outputs;
  });
  expect_crashed(body, "writes beyond the end of a tensor of 70 bytes that it made (byte 1 behind its last)");
}

TEST(Surroundings, RightWhereMemoryIsAligned) {
  const Json body = judge([](State& state) -> Outputs {
    Outputs outputs = right(state);
    const auto address = reinterpret_cast<std::uintptr_t>(state[1].const_data_ptr());
    if (is_trial(state) && address % 64 != 0) outputs[0].mul_(2.0);
    return outputs;
  });
  EXPECT_EQ(body.at("verdict"), "inaccurate") << body.at("reason");
  EXPECT_NE(body.at("reason").get<std::string>().find("at other addresses"), std::string::npos);
}

}  // namespace
}  // namespace ampgate::validate
