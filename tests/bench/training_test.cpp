#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/inspect.h"
#include "bench/measure.h"
#include "bench/schedule.h"
#include "bench/training_body.h"
#include "bench/training_spread.h"
#include "bench/training_subject.h"
#include "fake_case.h"
#include "fake_training.h"
#include "precision/autocast.h"

namespace ampgate::bench {
namespace {

using results::Json;
using testing::answer;
using testing::kFirstStep;
using testing::kUpdates;
using testing::named;
using testing::training_behaviour;

constexpr int kSteps = kUpdates - kFirstStep;

// Behind LibTorch's back, as a faulty kernel would: no operator shows it.
void poke(cases::State& state, float difference) {
  state.tensors[2].tensor.data_ptr<float>()[1] += difference;
}

class TrainingTest : public ::testing::Test {
 protected:
  void SetUp() override { training_behaviour() = {}; }
  void TearDown() override { training_behaviour() = {}; }

  Plan plan(Phase phase, const std::vector<std::string>& precisions) {
    return testing::fake_training_plan(phase, precisions, *backend_);
  }
  std::vector<Json> measured(const Plan& plan) {
    return testing::events_of([&](results::EventWriter& events) { measure(plan, *backend_, events); });
  }
  std::vector<Json> inspected(const Plan& plan) {
    return testing::events_of([&](results::EventWriter& events) { inspect(plan, *backend_, events); });
  }
  Json measured_alone(const Plan& plan) { return answer(measured(plan), "fake_training/8/fp32"); }
  static std::string reason(const Json& answer) { return answer.at("reason").get<std::string>(); }

  at::NoGradGuard no_grad_;
  std::unique_ptr<backends::Backend> backend_ = backends::open("cpu");
};

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(TrainingTest, CellsAreStepsFromTheSameState) {
  const auto events = measured(plan(Phase::kBench, {"fp32", "autocast-fp16", "autocast-bf16"}));
  for (const char* precision : {"fp32", "autocast-fp16", "autocast-bf16"}) {
    const Json found = answer(events, std::string("fake_training/8/") + precision);
    EXPECT_EQ(found.at("verdict"), "measured") << found;
    EXPECT_EQ(found.at("output_check"), "digest");
    EXPECT_GE(found.at("cells_checked"), 1);
    EXPECT_EQ(found.at("training").at("first_step"), kFirstStep);
    EXPECT_EQ(found.at("training").at("steps"), kSteps);
    EXPECT_EQ(found.at("training").at("found_inf_reads"), std::string(precision) == "autocast-fp16" ? 1 : 0);
  }
  const auto samples = named(events, "sample");
  EXPECT_GE(samples.size(), 9U);
  for (const auto& sample : samples) {
    EXPECT_EQ(sample.at("applied"), sample.at("calls")) << "nothing overflows";
    EXPECT_LT(sample.at("calls"), kSteps) << "phase 1 knows no weights after more steps; one is a lead-in";
  }
}

TEST_F(TrainingTest, EveryModeTimesSteps) {
  for (const Mode mode : {Mode::kCold, Mode::kLatency, Mode::kSustained}) {
    Plan asked = plan(Phase::kBench, {"fp32", "autocast-fp16"});
    asked.schedule.mode = mode;
    asked.schedule.sustained_time_ns = 5'000'000;
    const auto events = measured(asked);
    EXPECT_EQ(answer(events, "fake_training/8/autocast-fp16").at("verdict"), "measured")
        << answer(events, "fake_training/8/autocast-fp16");
    for (const auto& sample : named(events, "sample")) {
      EXPECT_EQ(sample.at("applied"), sample.at("calls"));
      EXPECT_EQ(sample.contains("call_times_ns"), mode != Mode::kSustained);
    }
  }
}

TEST_F(TrainingTest, SkippedStepsAreCounted) {
  training_behaviour().outlier = true;
  const auto prepared = plan(Phase::kBench, {"fp32", "autocast-fp16"});
  const auto samples = named(measured(prepared), "sample");
  int skipping = 0;
  for (const auto& sample : samples) {
    const auto calls = sample.at("calls").get<std::int64_t>();
    if (sample.at("id") == "fake_training/8/fp32") {
      EXPECT_EQ(sample.at("applied"), calls);
      continue;
    }
    const auto lead_in = lead_in_calls(calls);
    EXPECT_EQ(sample.at("applied"),
              testing::applied_from_first_step("autocast-fp16", *backend_, lead_in + calls) -
                  testing::applied_from_first_step("autocast-fp16", *backend_, lead_in));
    skipping += sample.at("applied") < calls ? 1 : 0;
  }
  EXPECT_GT(skipping, 0) << "else this test shows nothing";
}

TEST_F(TrainingTest, AStepThatTurnsWrongIsFound) {
  const auto prepared = plan(Phase::kBench, {"fp32", "autocast-bf16"});
  for (const long from_step : {0L, 6L, 20L}) {  // in BF16; 5 are before the timed ones, then one is tried
    long steps = 0;
    training_behaviour().act = [&](cases::State& state, at::Tensor&) {
      if (at::autocast::is_autocast_enabled(at::kCPU) && ++steps > from_step) poke(state, 0.25F);
    };
    const auto events = measured(prepared);
    const Json bad = answer(events, "fake_training/8/autocast-bf16");
    EXPECT_GT(steps, from_step);
    EXPECT_EQ(bad.at("verdict"), "output-changed") << from_step << bad;
    EXPECT_SAYS(reason(bad), "steps the weights have digest ");
    EXPECT_EQ(reason(bad).find("before anything was timed, after 5 steps") == 0, from_step == 0);
    EXPECT_EQ(answer(events, "fake_training/8/fp32").at("verdict"), "measured");
  }
}

TEST_F(TrainingTest, AlteredEvidenceIsRefused) {
  const Plan right = plan(Phase::kBench, {"fp32"});
  const auto with = [&](const char* pointer, const Json& value) {
    Plan altered = right;
    altered.groups[0].trials[0].evidence[Json::json_pointer(pointer)] = value;
    return measured_alone(altered);
  };
  const std::string other(32, '0');
  EXPECT_SAYS(reason(with("/training/weights/0", other)), "before anything was timed, after 5 steps");
  EXPECT_SAYS(reason(with("/training/weights/1", other)), "before anything was timed, after 6 steps");
  EXPECT_SAYS(reason(with("/training/first_step", 4)), "before anything was timed, after 4 steps");
  EXPECT_SAYS(reason(with("/training/weights/7", other)), "after 12 steps the weights have digest");
  EXPECT_SAYS(reason(with("/training/held_out", other)), "outputs on held-out data have digest");
  for (const char* pointer : {"/training/weights/0", "/training/weights/7", "/training/held_out"})
    EXPECT_EQ(with(pointer, other).at("verdict"), "output-changed");

  const Json inputs = with("/inputs/x", other);
  EXPECT_EQ(inputs.at("verdict"), "refused");
  EXPECT_SAYS(reason(inputs), "/inputs/x");
  const Json none = with("/training", nullptr);
  EXPECT_EQ(none.at("verdict"), "refused");
  EXPECT_SAYS(reason(none), "/training: the evidence has nothing");
  const Json one_step = with("/training/weights", Json::array({other, other}));
  EXPECT_EQ(one_step.at("verdict"), "refused");
  EXPECT_SAYS(reason(one_step), "2 at least");
}

TEST_F(TrainingTest, TheAuditKnowsWhatAStepDoes) {
  const auto events = inspected(plan(Phase::kInspect, {"fp32", "autocast-fp16", "autocast-bf16"}));
  for (const char* precision : {"fp32", "autocast-fp16", "autocast-bf16"}) {
    const Json found = answer(events, std::string("fake_training/8/") + precision);
    EXPECT_EQ(found.at("verdict"), "measured") << found;
    EXPECT_EQ(found.at("audit").at("problems"), Json::array());
  }
}

TEST_F(TrainingTest, WhatTheLossDoesBesideIsRefused) {
  const auto refusal = [&](const std::string& precision, auto act) {
    const auto prepared = plan(Phase::kInspect, {"fp32", "autocast-fp16"});
    training_behaviour() = {.act = act};
    const Json found = answer(inspected(prepared), "fake_training/8/" + precision);
    EXPECT_EQ(found.at("verdict"), "refused") << found;
    return reason(found);
  };
  const auto read = [](cases::State&, at::Tensor& loss) { loss.item(); };
  EXPECT_SAYS(refusal("fp32", read), "aten::_local_scalar_dense reads a value, and the case");
  EXPECT_SAYS(refusal("autocast-fp16", read), "aten::item reads a value 2 times, 1 of them found_inf");
  EXPECT_SAYS(refusal("fp32", [](cases::State&, at::Tensor& loss) { loss = loss.clone(); }),
              "the body itself calls aten::clone");
  EXPECT_SAYS(refusal("fp32", [](cases::State&, at::Tensor& loss) { loss = loss * 1; }),
              "is aten::mul (float32, int64) -> (float32) x1 with grad mode on, validated was");
  EXPECT_SAYS(refusal("fp32",
                      [](cases::State& state, at::Tensor&) {
                        const at::NoGradGuard off;
                        at::neg(state[0]);
                      }),
              "when the body calls aten::neg, grad mode is off");
  EXPECT_SAYS(refusal("fp32",
                      [](cases::State& state, at::Tensor&) {
                        const precision::AutocastScope on(at::kCPU, at::kBFloat16);
                        at::neg(state[0]);
                      }),
              "autocast is not as the precision asks");
}

TEST_F(TrainingTest, MemoryOfAStep) {
  const Json found = answer(inspected(plan(Phase::kInspect, {"fp32"})), "fake_training/8/fp32");
  const Json& memory = found.at("memory");
  constexpr int kWeightBytes = 4 * 4, kBatchBytes = 8 * (4 + 1) * 4;
  EXPECT_EQ(memory.at("weight_bytes"), kWeightBytes);
  EXPECT_EQ(memory.at("optimizer_bytes"), kWeightBytes) << "the momentum";
  EXPECT_EQ(memory.at("least_bytes"), kWeightBytes) << "the gradient";
  EXPECT_EQ(memory.at("input_bytes"), kBatchBytes);
  EXPECT_EQ(memory.at("growth").at("allocator_bytes"), 0);
  EXPECT_GE(memory.at("peak_bytes"), kWeightBytes);
  EXPECT_TRUE(memory.at("peak_parts_bytes").contains("gradients"));
  EXPECT_FALSE(memory.contains("absent"));
}

TEST_F(TrainingTest, AStepThatKeepsMemoryIsRefused) {
  const auto prepared = plan(Phase::kInspect, {"fp32"});
  static std::vector<at::Tensor> kept;
  training_behaviour().act = [](cases::State&, at::Tensor& loss) { kept.push_back(loss.detach() + 1); };
  const Json found = answer(inspected(prepared), "fake_training/8/fp32");
  EXPECT_EQ(found.at("verdict"), "refused");
  EXPECT_SAYS(reason(found), "a leak of tensors");
  kept.clear();
}

// Phase 1's processes did not agree.
TEST_F(TrainingTest, WithoutDigestsTheSpreadOfThisProcessDecides) {
  Plan prepared = plan(Phase::kBench, {"fp32"});
  prepared.groups[0].trials[0].evidence["repeatable"] = false;
  const Json right = measured_alone(prepared);
  EXPECT_EQ(right.at("verdict"), "measured") << right;
  EXPECT_EQ(right.at("output_check"), "bounds");

  // Each step is off by chance, and trainings with it.
  training_behaviour().act = [](cases::State& state, at::Tensor&) {
    poke(state, 1e-6F * std::sin(static_cast<float>(training_behaviour().calls)));
  };
  const Json noisy = measured_alone(prepared);
  EXPECT_EQ(noisy.at("verdict"), "measured") << noisy;

  // 5 steps to the first timed one, one that is tried, and three times all that may be timed.
  constexpr long kBefore = kFirstStep + 1 + TrainingSpread::kReferences * kSteps;
  training_behaviour() = {.act = [](cases::State& state, at::Tensor&) { poke(state, 0.01F); },
                          .from_call = kBefore};
  const Json wrong = measured_alone(prepared);
  EXPECT_EQ(wrong.at("verdict"), "output-changed") << wrong;
  EXPECT_SAYS(reason(wrong), "3 such runs were");

  training_behaviour() = {
      .act = [](cases::State& state, at::Tensor&) { poke(state, std::numeric_limits<float>::quiet_NaN()); },
      .from_call = kBefore};
  EXPECT_SAYS(reason(measured_alone(prepared)), "the weights are not finite");
}

TEST(TrainingSpread, IsTheDistanceToTheNearestReference) {
  TrainingSpread spread("the weights");
  for (const double value : {1.0, 1.003, 1.004}) spread.add_reference({at::full({4}, value, at::kDouble)});
  // The references are 0.008 from each other at most: twice their difference in each of four elements.
  EXPECT_EQ(spread.strayed({at::full({4}, 1.043, at::kDouble)}), "");
  EXPECT_SAYS(spread.strayed({at::full({4}, 1.045, at::kDouble)}), "the weights are 0.08");
  EXPECT_SAYS(spread.strayed({at::full({4}, NAN, at::kDouble)}), "the weights are");
}

TEST(TrainingSpread, EqualReferencesAskForTheSame) {
  TrainingSpread spread("the weights");
  for (int i = 0; i < 3; ++i) spread.add_reference({at::ones({4})});
  EXPECT_EQ(spread.strayed({at::ones({4})}), "");
  EXPECT_NE(spread.strayed({at::ones({4}) * (1 + 1e-6)}), "");
}

}  // namespace
}  // namespace ampgate::bench
