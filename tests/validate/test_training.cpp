// Phase 1 for training, as a whole, on small trainings that go wrong in one known way.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cases/fills.h"
#include "session.h"
#include "validate/case_fault.h"
#include "validate/training/baseline_fault.h"
#include "validate/training/isolation.h"
#include "validate/training/training_run.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {
namespace {

using at::Tensor;
using cases::Fill;
using cases::Outputs;
using cases::Shape;
using cases::State;
using results::Json;

enum : std::size_t { kX, kTarget, kWeight };

State setup(const Shape&, const Fill& fill) {
  const Tensor x = fill.normal("x", {64, 8});
  const Tensor right = fill.normal("right", {1, 8});
  return {{{"x", x}, {"target", at::linear(x, right)}, {"weight", at::zeros({1, 8}), cases::Role::kWeight}}};
}

Outputs run(State& state) { return {at::linear(state[kX], state[kWeight])}; }

Tensor loss(State& state) { return at::mse_loss(run(state)[0], state[kTarget]); }

cases::Case small_training(Tensor (*of)(State&) = loss, double rate = 0.05) {
  return {
      .name = "test-training",
      .dims = {"batch"},
      .suites = {{"training", {{16}}}},
      .outputs = {"out"},
      .setup = setup,
      .run = run,
      .facts = [](const Shape&) -> cases::Facts {
        return {.bound = {.family = cases::Family::kModel},
                .meaning = cases::Meaning::kRegression,
                .targets = "target"};
      },
      .model = true,
      .training = cases::Training{.loss = of,
                                  .optimizers = {{.kind = cases::OptimizerKind::kSgd, .learning_rate = rate}},
                                  .rows = {{"x", "x"}, {"target", "target"}}}};
}

class TrainingTest : public testing::Test {
 protected:
  TrainingTest() {
    cpu_.session.rules.training.updates = 60;
    cpu_.session.rules.training.seeds = 3;
  }

  Json judge(const cases::Case& definition, std::string_view precision = "fp32") {
    TrainingRun trials(cpu_.session, definition, definition.shape({16}), {});
    return trials.judge("trial", precision::find(precision));
  }

  TrainingSetup setup_of(const cases::Case& definition) {
    return {cpu_.session, definition, definition.shape(definition.suites[0].shapes[0])};
  }

  CpuSession cpu_;
};

testing::AssertionResult says(const Json& body, const char* verdict, const std::string& words) {
  const auto reason = body.at("reason").get<std::string>();
  if (body.at("verdict") == verdict && reason.find(words) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << body.at("verdict") << ": " << reason;
}

TEST_F(TrainingTest, ASoundTrainingPasses) {
  const Json body = judge(small_training());
  EXPECT_EQ(body.at("verdict"), "pass") << body.at("reason");
  EXPECT_EQ(body.at("training").at("applied"), 60);
  EXPECT_EQ(body.at("explanation").at("traced_steps"), (Json{0, 29, 59}));
}

// Watching reads; it must not change what is trained.
TEST_F(TrainingTest, TheWatchedRunEndsWithTheWeightsOfThePlainOne) {
  for (const auto* name : {"fp32", "autocast-fp16", "autocast-bf16"}) {
    const cases::Case definition = small_training();
    const TrainingSetup training = setup_of(definition);
    const Way way = usual_way(precision::find(name));
    const auto plain = training.trainer(way, 1);
    for (int step = 0; step < 20; ++step) plain->run_step();
    const auto trainer = training.trainer(way, 1);
    const WatchedRun watched = watch(*trainer, 20, {3, 19});
    EXPECT_EQ(watched.steps.back().weights, weights_digest(*plain)) << name;
    EXPECT_EQ(watched.shadows.at(1).state.at("iteration"), 19);
    EXPECT_EQ(watched.steps.at(0).gradients.size(), 1U);
  }
}

TEST_F(TrainingTest, UpdatesThatChangeNothingAreFound) {
  EXPECT_TRUE(says(judge(small_training(loss, 0)), "quality-lost",
                   "the learning rate of optimizer 0 is 0 in every step"));
  EXPECT_TRUE(
      says(judge(small_training(loss, 1e-47)), "quality-lost", "updates were applied and changed no weight"));
}

// As schedules do that begin with nothing.
TEST_F(TrainingTest, AWarmUpMayBeginWithALearningRateOfZero) {
  cases::Case definition = small_training();
  definition.training->step = [](cases::Trainer& trainer) {
    trainer.optimizers()[0]->set_learning_rate(0.05 *
                                               std::min(1.0, static_cast<double>(trainer.iteration()) / 10));
    cases::standard_step(trainer);
  };
  EXPECT_TRUE(says(judge(definition), "pass", ""));
}

TEST_F(TrainingTest, ALearningRateThatIsTooHighIsNamedFirst) {
  const Json body = judge(small_training(loss, 1e3));
  EXPECT_TRUE(says(body, "nonfinite", "the learning rate is too high: the loss goes from"));
  EXPECT_EQ(body.at("reason").get<std::string>().find("the learning rate is too high"), 0U);
}

Tensor loss_of_a_logarithm(State& state) {
  return loss(state) + (state[kX] * 0).abs().log().mean() * state[kWeight].sum();
}

// A part of the loss that overflows in FP16 and has no gradient.
Tensor loss_with_a_tall_part(State& state) {
  const Tensor tall = state[kX].detach() * 1e3;
  return loss(state) + at::matmul(tall, tall.t()).max().to(at::kFloat) * 1e-9;
}

// The scaler looks at gradients alone, and these are finite.
TEST_F(TrainingTest, ALossThatIsNotFiniteIsNoPassThoughEveryStepIsApplied) {
  EXPECT_EQ(judge(small_training(loss_with_a_tall_part)).at("verdict"), "pass");
  EXPECT_TRUE(says(judge(small_training(loss_with_a_tall_part), "autocast-fp16"), "nonfinite",
                   "and the update was applied: its gradients are finite"));
}

TEST_F(TrainingTest, AFaultBeforeAnyUpdateIsNotTheLearningRate) {
  const Json body = judge(small_training(loss_of_a_logarithm, 1e3));
  EXPECT_TRUE(says(body, "nonfinite", "change the model or its data, not the precision"));
  EXPECT_TRUE(says(body, "nonfinite", "aten::log")) << "the operator that began it";
  EXPECT_EQ(body.at("explanation").at("first_bad").at("reason"), "log of zero or less");
}

// Infinite from the middle of the training on, when the weights have grown, and replaced at once.
Tensor loss_that_swallows(State& state) {
  const Tensor grown = at::exp(state[kWeight].detach().abs().sum().to(at::kFloat) * 40);
  const Tensor kept = at::where(at::isfinite(grown), grown, at::zeros_like(grown));
  return loss(state) + kept * 0;
}

TEST_F(TrainingTest, ValuesThatAreSwallowedAreFoundOnPassingRuns) {
  const cases::Case definition = small_training(loss_that_swallows);
  TrainingRun trials(cpu_.session, definition, definition.shape({16}), {});
  for (const auto* name : {"fp32", "autocast-bf16"}) {
    const Json body = trials.judge("trial", precision::find(name));
    EXPECT_TRUE(body.at("verdict") == "pass" || body.at("verdict") == "ambiguous") << body.at("reason");
    const Json& swallowed = body.at("explanation").at("swallowed");
    ASSERT_FALSE(swallowed.empty()) << name;
    EXPECT_EQ(swallowed[0].at("operator"), "aten::exp");
    EXPECT_EQ(swallowed[0].at("swallowed_by").at("operator"), "aten::where");
    EXPECT_GT(swallowed[0].at("step"), 0) << "the first step shows nothing";
    bool told = false;
    for (const auto& finding : body.at("findings")) told = told || finding.at("verdict") == "swallowed";
    EXPECT_TRUE(told);
  }
}

// Attention over the elements of a row; `hidden`: of how many rows all places are masked.
template <int hidden>
Tensor loss_with_a_mask(State& state) {
  const Tensor mask = at::zeros({state[kX].size(0), 8}, at::kBool);
  mask.select(1, 7).fill_(true);
  mask.slice(0, 0, hidden).fill_(true);
  const Tensor attention = state[kX].masked_fill(mask, -INFINITY).softmax(1).nan_to_num(0.0);
  return at::mse_loss(at::linear(state[kX] + attention, state[kWeight]), state[kTarget]);
}

TEST_F(TrainingTest, MasksAreMeantAndMaskedRowsAreNot) {
  const Json meant = judge(small_training(loss_with_a_mask<0>));
  EXPECT_TRUE(says(meant, "pass", ""));
  EXPECT_TRUE(meant.at("explanation").at("swallowed").empty()) << meant.at("explanation");
  const Json lost = judge(small_training(loss_with_a_mask<1>));
  EXPECT_TRUE(says(lost, "pass", ""));
  const Json& swallowed = lost.at("explanation").at("swallowed");
  ASSERT_FALSE(swallowed.empty());
  EXPECT_EQ(swallowed[0].at("operator"), "aten::softmax");
  EXPECT_EQ(swallowed[0].at("swallowed_by").at("operator"), "aten::nan_to_num");
}

// The rows of a table, of which a batch reads some.
cases::Case sparse_training() {
  cases::Case definition = small_training([](State& state) -> Tensor {
    const Tensor rows = at::embedding(state[kWeight], state[kX], -1, false, /*sparse=*/true);
    return at::mse_loss(rows.sum(1, true), state[kTarget]);
  });
  definition.setup = [](const Shape&, const Fill& fill) -> State {
    return {{{"x", fill.integers("x", {64}, 0, 16)},
             {"target", fill.normal("target", {64, 1})},
             {"weight", fill.normal("weight", {16, 4}), cases::Role::kWeight}}};
  };
  definition.run = [](State& state) -> Outputs {
    return {at::embedding(state[kWeight], state[kX]).sum(1, true)};
  };
  return definition;
}

TEST_F(TrainingTest, SparseGradientsAreNoMisuse) {
  const cases::Case definition = sparse_training();
  TrainingRun trials(cpu_.session, definition, definition.shape({16}), {});
  EXPECT_TRUE(says(trials.judge("trial", precision::find("fp32")), "pass", ""));
  const Json scaled = trials.judge("trial", precision::find("autocast-fp16"));
  EXPECT_EQ(scaled.at("reason").get<std::string>().find("misuse"), std::string::npos) << scaled.at("reason");
  EXPECT_EQ(scaled.at("training").at("applied"), 60);
}

void never_stepped(cases::Trainer& trainer) {
  trainer.zero_grad();
  trainer.backward(trainer.forward(0));
}

TEST_F(TrainingTest, MisuseIsAVerdictAndNoCrash) {
  cases::Case definition = small_training();
  definition.training->step = never_stepped;
  EXPECT_TRUE(says(judge(definition), "baseline-invalid", "misuse: optimizer 0 was not stepped"));
  EXPECT_TRUE(says(judge(definition, "autocast-bf16"), "baseline-invalid", "misuse: optimizer 0"));
}

TEST_F(TrainingTest, IsolationTellsUnderflowFromOverflow) {
  const auto isolated = [&](const char* name, const Trouble& trouble) {
    return isolate(setup_of(cases::registry().at(name)), usual_way(precision::find("autocast-fp16")),
                   trouble);
  };
  const Isolation underflow = isolated("train_underflow", {.kind = Trouble::Kind::kGradient});
  EXPECT_NE(underflow.words.find("scaling heals it"), std::string::npos) << underflow.words;
  EXPECT_NE(underflow.words.find("do not fail in this precision"), std::string::npos) << underflow.words;
  const Json& ways = underflow.json.at("ways");
  EXPECT_GT(ways.at("autocast").at("zeroed_share"), 0.5);
  EXPECT_TRUE(ways.at("autocast").at("fails"));
  EXPECT_LT(ways.at("both").at("zeroed_share"), 0.1);
  EXPECT_FALSE(ways.at("both").at("fails"));
  EXPECT_EQ(ways.at("fp32").at("zeroed_share"), 0);
  const Isolation overflow = isolated("train_overflow", {.steps = 14});
  EXPECT_NE(overflow.words.find("autocast is to blame: the forward pass"), std::string::npos)
      << overflow.words;
  EXPECT_NE(overflow.words.find("aten::linear in region 'stem'"), std::string::npos) << overflow.words;
}

// Overflows in FP16 when the weights have grown, and has no gradient.
Tensor loss_that_grows(State& state) {
  const Tensor tall = state[kX].detach() * (state[kWeight].detach().abs().sum() * 150);
  return loss(state) + at::matmul(tall, tall.t()).max().to(at::kFloat) * 1e-9;
}

TEST_F(TrainingTest, IsolationBeginsWhereTheTrainingFails) {
  const Json body = judge(small_training(loss_that_grows), "autocast-fp16");
  EXPECT_TRUE(says(body, "nonfinite", "autocast is to blame: the forward pass in float16 leaves the range"));
  EXPECT_TRUE(says(body, "nonfinite", "aten::matmul"));
  const Json& isolation = body.at("training").at("isolation");
  EXPECT_GT(isolation.at("first_step"), 0);
  EXPECT_EQ(isolation.at("first_step"), body.at("training").at("bad_step"));
  EXPECT_TRUE(isolation.at("ways").at("both").at("fails"));
  EXPECT_FALSE(isolation.at("ways").at("scaling").at("fails"));
}

// By the rules of the user: one skipped step is too many.
TEST_F(TrainingTest, IsolationJudgesByTheRules) {
  cpu_.session.rules.training.max_consecutive_skips = 0;
  const auto large = [](State& state) -> Tensor { return loss(state) * 100; };
  const Json body = judge(small_training(large, 0.05 / 100), "autocast-fp16");
  EXPECT_TRUE(says(body, "nonfinite", "steps in a row were skipped, the rules allow 0"));
  const Json& ways = body.at("training").at("isolation").at("ways");
  EXPECT_TRUE(ways.at("both").at("fails"));
  EXPECT_FALSE(ways.at("autocast").at("fails")) << ways;
  EXPECT_TRUE(says(body, "nonfinite", "together they do not"));
}

TEST_F(TrainingTest, ATrainingThatLearnsNothingSaysNothing) {
  const cases::Case definition = small_training(loss, 1e-7);
  TrainingRun trials(cpu_.session, definition, definition.shape({16}), {});
  const Json baseline = trials.judge("trial", precision::find("fp32"));
  EXPECT_TRUE(says(baseline, "pass", "")) << "its gradients are right";
  bool told = false;
  for (const auto& finding : baseline.at("findings"))
    told = told || finding.at("verdict") == "learns-nothing";
  EXPECT_TRUE(told);
  for (const auto* name : {"autocast-fp16", "autocast-bf16"}) {
    EXPECT_TRUE(says(trials.judge("trial", precision::find(name)), "ambiguous",
                     "that 16 bit is no worse says nothing"));
  }
}

enum : std::size_t { kDead = kWeight + 1 };

// Beside the model a parameter whose gradient is far below FP16's range: with eps that small AdamW trains it.
cases::Case with_a_dead_parameter() {
  cases::Case definition = small_training([](State& state) -> Tensor {
    const Tensor y = at::linear(at::full_like(state[kDead], 1e-3), state[kDead]);
    return loss(state) + (y.to(state[kDead].scalar_type()) * 1e-12).sum();
  });
  definition.setup = [](const Shape& shape, const Fill& fill) {
    State state = setup(shape, fill);
    state.tensors.push_back({"dead", at::zeros({1, 1}), cases::Role::kWeight});
    return state;
  };
  definition.training->optimizers[0] = {
      .kind = cases::OptimizerKind::kAdamW, .learning_rate = 0.05, .eps = 1e-20};
  return definition;
}

TEST_F(TrainingTest, OneParameterWithoutGradientsIsFound) {
  cpu_.session.rules.training.max_zeroed_share = 0.5;  // it has one of nine elements
  const cases::Case definition = with_a_dead_parameter();
  TrainingRun trials(cpu_.session, definition, definition.shape({16}), {});
  const Json scaled = trials.judge("trial", precision::find("autocast-fp16"));
  EXPECT_TRUE(says(scaled, "inaccurate", "parameter 'dead' gets no gradient"));
  EXPECT_TRUE(says(scaled, "inaccurate", "underflow")) << "what is to blame";
  EXPECT_TRUE(says(trials.judge("trial", precision::find("autocast-bf16")), "pass", ""));
}

// Targets that BF16 holds: late in the training the outputs are these, to the last bit, and the gradients
// zero.
TEST_F(TrainingTest, ZerosByCancellationAreNoUnderflow) {
  cases::Case definition = small_training(
      [](State& state) -> Tensor {
        const Tensor out =
            at::linear(at::embedding(state[kWeight], state[kX]), at::ones({1, 1}, state[kWeight].options()));
        return at::mse_loss(out.to(state[kTarget].scalar_type()), state[kTarget]);
      },
      1.0);
  definition.setup = [](const Shape&, const Fill&) -> State {
    const Tensor rows = at::arange(64, at::kLong).remainder(16);
    return {{{"x", rows},
             {"target", (rows.to(at::kFloat) / 8 - 1).unsqueeze(1)},
             {"weight", at::ones({16, 1}), cases::Role::kWeight}}};
  };
  definition.run = [](State& state) -> Outputs { return {at::embedding(state[kWeight], state[kX])}; };
  const Json body = judge(definition, "autocast-bf16");
  EXPECT_EQ(body.at("reason").get<std::string>().find("underflow"), std::string::npos) << body.at("reason");
  double cancelled = 0;
  for (const auto& shadow : body.at("training").at("shadow")) {
    EXPECT_EQ(shadow.at("zeroed_share"), 0);
    cancelled = std::max(cancelled, shadow.at("cancelled_share").get<double>());
  }
  EXPECT_GT(cancelled, 0.05) << "else this test shows nothing";
}

TEST_F(TrainingTest, LabelsMustBeClasses) {
  const auto fault = [&](const char* tensor, std::int64_t label) -> std::string {
    cases::Case definition = cases::registry().at("train_underflow");
    definition.setup = [=, right = definition.setup](const Shape& shape, const Fill& fill) {
      State state = right(shape, fill);
      state.find(tensor)->select(0, 7).fill_(label);
      return state;
    };
    try {
      check_labels(setup_of(definition));
    } catch (const CaseFault& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault("labels", 9), "");
  EXPECT_EQ(fault("labels", -100), "") << "PyTorch's losses pass over it";
  EXPECT_NE(fault("labels", 10).find("label 10 at 'labels[7]' is out of range"), std::string::npos);
  EXPECT_NE(fault("held_out_labels", -1).find("label -1 at 'held_out_labels[7]'"), std::string::npos);
}

}  // namespace
}  // namespace ampgate::validate
