#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cases/execute.h"
#include "cases/fills.h"
#include "validate/model_judge.h"
#include "validate/replay.h"

namespace ampgate::validate {
namespace {

using cases::Outputs;
using cases::State;

// Two linear layers with weights of the size that keeps the scale.
cases::Case mlp() {
  return {.name = "test-mlp",
          .dims = {"rows", "width"},
          .suites = {},
          .outputs = {"out"},
          .setup = [](const cases::Shape& shape, const cases::Fill& fill) -> State {
            const auto width = shape["width"];
            return {{{"x", fill.normal("x", {shape["rows"], width})},
                     {"w1", fill.normal("w1", {width, width}, 0.125), cases::Role::kWeight},
                     {"w2", fill.normal("w2", {width, width}, 0.125), cases::Role::kWeight}}};
          },
          .run = [](State& state) -> Outputs {
            return {at::linear(at::relu(at::linear(state[0], state[1])), state[2])};
          },
          .facts = [](const cases::Shape&) -> cases::Facts { return {}; },
          .model = true};
}

struct MlpRun {
  Outputs outputs;
  Outputs oracle;
  Replay prediction;
  std::vector<RecordedCall> calls;
};

MlpRun run_mlp(std::string_view name, Outputs (*faulty)(State&) = nullptr, cases::Case definition = mlp()) {
  const at::NoGradGuard no_grad;
  const auto shape = definition.shape({64, 64});
  const State original = definition.setup(shape, cases::Fill(3, definition.name, shape.name));
  const auto& precision = precision::find(name);
  State prepared = cases::prepare(original, precision, at::kCPU);
  CallRecorder recorder;
  {
    const InterceptScope scope(recorder);
    cases::execute(definition, prepared, precision, at::kCPU);
  }
  MlpRun run;
  run.calls = recorder.take();
  State fp64 = cases::converted(precision.mode == precision::Mode::kCast ? prepared : original, at::kDouble);
  run.oracle = definition.run(fp64);
  run.prediction = replay(definition, fp64, run.oracle, {run.calls, {}, 12, 1});
  if (faulty != nullptr) definition.run = faulty;
  run.outputs = cases::execute(definition, prepared, precision, at::kCPU);
  return run;
}

double measured_over_predicted(const MlpRun& run) {
  return (run.outputs[0].to(at::kDouble) - run.oracle[0]).square().mean().sqrt().item<double>() /
         run.prediction.rms[0];
}

TEST(Replay, RecordsWhatAutocastRounds) {
  const MlpRun run = run_mlp("autocast-fp16");
  ASSERT_EQ(run.calls.size(), 3U);
  EXPECT_EQ(run.calls[0].name, "aten::linear");
  EXPECT_EQ(run.calls[0].rounded_inputs, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(run.calls[0].rounded[0], at::kHalf);
  EXPECT_FALSE(run.calls[1].rounded[0].has_value());  // relu is exact
  EXPECT_EQ(run.calls[2].rounded_inputs, (std::vector<std::size_t>{1}));
}

TEST(Replay, PredictsTheErrorOfCorrectRuns) {
  for (const char* name : {"fp32", "autocast-fp16", "autocast-bf16", "cast-fp16", "cast-bf16"}) {
    const MlpRun run = run_mlp(name);
    const double ratio = measured_over_predicted(run);
    EXPECT_GT(ratio, 0.5) << name;
    EXPECT_LT(ratio, 1.6) << name;
    EXPECT_EQ(judge_model({}, mlp(), run.outputs, run.oracle, run.prediction).verdict,
              results::Verdict::kPass)
        << name;
  }
}

// Sums inside one operator round as products do. Kernels that keep them in a wider type than they must are
// better than predicted.
TEST(Replay, PredictsSumsInsideAnOperator) {
  using Sum = Outputs (*)(State&);
  const std::vector<Sum> runs{
      [](State& state) -> Outputs {
        const at::Tensor index = at::arange(64).remainder(4);
        return {at::index_add(at::zeros({4, 64}, state[0].options()), 0, index, at::relu(state[0]))};
      },
      [](State& state) -> Outputs {
        const at::Tensor index = at::arange(64).remainder(4);
        return {at::zeros({4, 64}, state[0].options()).index_add_(0, index, at::relu(state[0]))};
      },
      [](State& state) -> Outputs {
        const at::Tensor index = at::arange(64).remainder(2).unsqueeze(1).expand({64, 64});
        return {at::scatter_add(at::zeros({2, 64}, state[0].options()), 0, index, at::relu(state[0]))};
      },
      [](State& state) -> Outputs { return {at::cumsum(at::relu(state[0]), 0)}; }};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    cases::Case definition = mlp();
    definition.run = runs[i];
    for (const char* name : {"fp32", "cast-fp16", "cast-bf16"}) {
      const double ratio = measured_over_predicted(run_mlp(name, nullptr, definition));
      EXPECT_GT(ratio, 0.2) << i << ' ' << name;
      EXPECT_LT(ratio, 1.6) << i << ' ' << name;
    }
  }
}

// Networks that carry their state over 24 steps in one operator round at each of them.
cases::Case recurrent(const char* kind) {
  return {.name = std::string("test-") + kind,
          .dims = {"rows", "width"},
          .suites = {},
          .outputs = {"out"},
          .setup = [gates = std::string(kind) == "lstm" ? 4 : 3](const cases::Shape& shape,
                                                                 const cases::Fill& fill) -> State {
            const auto width = shape["width"];
            return {{{"x", fill.normal("x", {24, shape["rows"], width})},
                     {"w", fill.normal("w", {gates * width, width}, 0.125), cases::Role::kWeight},
                     {"u", fill.normal("u", {gates * width, width}, 0.125), cases::Role::kWeight},
                     {"h", fill.normal("h", {1, shape["rows"], width})}}};
          },
          .run = [lstm = std::string(kind) == "lstm"](State& state) -> Outputs {
            const std::vector<at::Tensor> weights{state[1], state[2]};
            if (!lstm)
              return {std::get<0>(at::gru(state[0], state[3], weights, false, 1, 0.0, false, false, false))};
            return {std::get<0>(
                at::lstm(state[0], {state[3], state[3]}, weights, false, 1, 0.0, false, false, false))};
          },
          .facts = [](const cases::Shape&) -> cases::Facts { return {}; },
          .model = true};
}

TEST(Replay, PredictsOperatorsThatAreMadeOfOthers) {
  for (const char* kind : {"lstm", "gru"}) {
    for (const char* name : {"fp32", "autocast-bf16", "cast-fp16", "cast-bf16"}) {
      const double ratio = measured_over_predicted(run_mlp(name, nullptr, recurrent(kind)));
      EXPECT_GT(ratio, 0.3) << kind << ' ' << name;  // oneDNN's LSTM keeps some of its values in FP32
      EXPECT_LT(ratio, 1.6) << kind << ' ' << name;
    }
  }
  const MlpRun gru = run_mlp("autocast-bf16", nullptr, recurrent("gru"));
  ASSERT_EQ(gru.calls.size(), 1U);
  EXPECT_EQ(narrowest(gru.calls[0]), at::kBFloat16);
  EXPECT_TRUE(gru.calls[0].parts.contains("aten::linear"));
}

TEST(Replay, FindsAFaultOfTheSizeOfRounding) {
  const auto dropped = [](State& state) -> Outputs {
    const auto kept = state[0].size(1) - 1;
    return {
        at::linear(at::relu(at::linear(state[0], state[1])).narrow(1, 0, kept), state[2].narrow(1, 0, kept))};
  };
  for (const char* name : {"fp32", "cast-fp16", "cast-bf16"}) {
    const MlpRun run = run_mlp(name, dropped);
    EXPECT_EQ(judge_model({}, mlp(), run.outputs, run.oracle, run.prediction).verdict,
              results::Verdict::kInaccurate)
        << name;
  }
}

TEST(Replay, IsTheSameForTheSameSeed) {
  const MlpRun a = run_mlp("cast-fp16");
  const MlpRun b = run_mlp("cast-fp16");
  EXPECT_EQ(a.prediction.rms, b.prediction.rms);
}

TEST(Replay, RefusesOtherOperators) {
  MlpRun run = run_mlp("cast-fp16");
  const cases::Case definition = mlp();
  State fp64 =
      cases::converted(definition.setup(definition.shape({64, 64}), cases::Fill(3, "x", "y")), at::kDouble);
  run.calls[0].name = "aten::matmul";
  EXPECT_NO_THROW(replay(definition, fp64, run.oracle, {run.calls, {}, 2, 1}));
  run.calls[2].name = "aten::matmul";
  EXPECT_THROW(replay(definition, fp64, run.oracle, {run.calls, {}, 2, 1}), NoPrediction);
  run.calls.resize(1);
  EXPECT_THROW(replay(definition, fp64, run.oracle, {run.calls, {}, 2, 1}), NoPrediction);
}

}  // namespace
}  // namespace ampgate::validate
