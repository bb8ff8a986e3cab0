// One training step: what it computes, and in which order.
#include "cases/training/trainer.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "cases/execute.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

using at::Tensor;

enum : std::size_t { kX, kW, kB };

// Rows of eleven numbers, eight weights and three: the gradient of the sum is the mean row.
State linear_setup(const Shape&, const Fill&) {
  const Tensor ramp = at::arange(11, at::kLong);
  const Tensor row = at::cat({(ramp.slice(0, 0, 8) * 37).remainder(64).to(at::kFloat) / 64 - 0.5,
                              (ramp.slice(0, 0, 3) * 29).remainder(32).to(at::kFloat) / 32 - 0.5});
  return {{{"x", row.expand({4, 11}).contiguous()},
           {"w", at::zeros({8}), Role::kWeight},
           {"b", at::zeros({3}), Role::kWeight}}};
}

Tensor linear_loss(State& state) {
  return (state[kX] * at::cat({state[kW], state[kB]})).sum() / state[kX].size(0);
}

// Gradients of 4 for the first weight and 1 for the second.
State constant_setup(const Shape&, const Fill&) {
  return {
      {{"x", at::ones({8, 1})}, {"w", at::zeros({1}), Role::kWeight}, {"b", at::zeros({1}), Role::kWeight}}};
}

Tensor constant_loss(State& state) { return (state[kX][0] * (4 * state[kW] + state[kB])).sum(); }

State random_setup(const Shape&, const Fill& fill) {
  return {{{"x", fill.normal("x", {64, 11})},
           {"w", fill.normal("w", {8}), Role::kWeight},
           {"b", fill.normal("b", {3}), Role::kWeight}}};
}

std::vector<Tensor> batches;  // that the loss saw

Tensor nonlinear_loss(State& state) {
  batches.push_back(state[kX]);
  return at::tanh(state[kX].matmul(at::cat({state[kW], state[kB]}))).square().mean();
}

Case test_case(State (*setup)(const Shape&, const Fill&), Tensor (*loss)(State&), Training training) {
  training.loss = loss;
  training.rows = {{"x", "x"}};
  return {.name = "test-training",
          .dims = {"batch"},
          .suites = {{"training", {{4}}}},
          .outputs = {"out"},
          .setup = setup,
          .run = [](State& state) -> Outputs { return {state[kX] * 1}; },
          .facts = [](const Shape&) -> Facts { return {}; },
          .training = std::move(training)};
}

constexpr OptimizerSpec kSgd{.kind = OptimizerKind::kSgd, .learning_rate = 0.5};

class Trained {
 public:
  explicit Trained(Case definition, bool scaler = false, double init_scale = 65536,
                   c10::ScalarType type = at::kFloat)
      : definition_(std::move(definition)), shape_(definition_.shape({4})) {
    const Fill fill(1, definition_.name, shape_.name);
    const State original = definition_.setup(shape_, fill);
    trainer = std::make_unique<Trainer>(definition_, shape_, fill,
                                        type == at::kFloat ? original : converted(original, type),
                                        TrainerSetup{.precision = precision::baseline(),
                                                     .scaler = scaler,
                                                     .scaler_options = {.init_scale = init_scale}});
  }

  Tensor weight(std::size_t number) const { return trainer->state()[number].detach(); }

 private:
  Case definition_;
  Shape shape_;

 public:
  std::unique_ptr<Trainer> trainer;
};

std::vector<std::uint32_t> gradient_bits(const Trainer& trainer) {
  const Tensor all = at::cat({trainer.state()[kW].grad(), trainer.state()[kB].grad()}).view(at::kInt);
  std::vector<std::uint32_t> bits;
  for (std::int64_t i = 0; i < all.numel(); ++i)
    bits.push_back(static_cast<std::uint32_t>(all[i].item<std::int32_t>()));
  return bits;
}

// What torch.nn.utils.clip_grad_norm_([w, b], max_norm, foreach=False) of PyTorch 2.11 leaves of the
// gradients torch.arange(8) * 37 % 64 / 64 - 0.5 and torch.arange(3) * 29 % 32 / 32 - 0.5, whose norm
// is 1.156.
TEST(Trainer, ClipsAsPyTorchDoes) {
  if (at::get_cpu_capability() == "DEFAULT") GTEST_SKIP() << "the numbers are of vector kernels";
  const auto clipped = [](double max_norm) {
    Trained trained(test_case(linear_setup, linear_loss, {.optimizers = {kSgd}, .clip_norm = max_norm}));
    trained.trainer->run_step();
    return gradient_bits(*trained.trainer);
  };
  EXPECT_EQ(clipped(0.5), (std::vector<std::uint32_t>{0xbe5d7c73, 0x3d0a6dc8, 0xbe18458f, 0x3dcfa4ac,
                                                      0xbda61d56, 0x3e2d093a, 0xbc5d7c73, 0xbe48b8c8,
                                                      0xbe5d7c73, 0x3e33f51d, 0x3e0a6dc8}));
  EXPECT_EQ(clipped(5.0), (std::vector<std::uint32_t>{0xbf000000, 0x3da00000, 0xbeb00000, 0x3e700000,
                                                      0xbe400000, 0x3ec80000, 0xbd000000, 0xbee80000,
                                                      0xbf000000, 0x3ed00000, 0x3ea00000}));
}

TEST(Trainer, MicroBatchesAddUpToTheEffectiveBatch) {
  Trained trained(test_case(random_setup, nonlinear_loss, {.optimizers = {kSgd}, .micro_batches = 4}), false,
                  65536, at::kDouble);
  batches.clear();
  trained.trainer->compute_gradients();
  ASSERT_EQ(batches.size(), 4U);
  EXPECT_FALSE(at::equal(batches[0], batches[1])) << "every micro-batch has rows of its own";
  const Tensor weights = at::cat({trained.weight(kW), trained.weight(kB)}).clone().detach().requires_grad_();
  const Tensor rows = at::cat(batches);
  at::tanh(rows.matmul(weights)).square().mean().backward();
  const Tensor own = at::cat({trained.trainer->state()[kW].grad(), trained.trainer->state()[kB].grad()});
  EXPECT_LT((own - weights.grad()).norm().item<double>(), 1e-14 * own.norm().item<double>());
}

// 4 x 2^127 and 4 x 2^126 are beyond FP32, 4 x 2^125 is not.
TEST(Trainer, SchedulesAdvanceWithAppliedUpdatesAlone) {
  Trained trained(test_case(constant_setup, constant_loss,
                            {.optimizers = {kSgd}, .schedules = {{.optimizer = 0, .gamma = 0.5}}}),
                  true, std::ldexp(1.0, 127));
  std::vector<bool> stepped;
  for (int step = 0; step < 5; ++step) {
    trained.trainer->run_step();
    stepped.push_back(trained.trainer->stepped()[0]);
  }
  EXPECT_EQ(stepped, (std::vector<bool>{false, false, true, true, true}));
  const Optimizer& optimizer = *trained.trainer->optimizers()[0];
  EXPECT_EQ(optimizer.updates(), 3);
  EXPECT_EQ(optimizer.learning_rate(), 0.5 / 8);
  EXPECT_EQ(trained.trainer->iteration(), 5);
  EXPECT_EQ(trained.trainer->scale(), std::ldexp(1.0, 125));
  EXPECT_EQ(trained.trainer->growth_tracker(), 3);
  EXPECT_EQ(trained.weight(kW).item<float>(), -4 * (0.5F + 0.25F + 0.125F));
}

TEST(Trainer, SchedulesCountPeriods) {
  Trained trained(
      test_case(constant_setup, constant_loss,
                {.optimizers = {kSgd}, .schedules = {{.optimizer = 0, .period = 2, .gamma = 0.5}}}));
  for (int step = 0; step < 5; ++step) trained.trainer->run_step();
  EXPECT_EQ(trained.trainer->optimizers()[0]->learning_rate(), 0.5 / 4);
}

TEST(Trainer, OneOptimizerSkipsAndTheOtherSteps) {
  OptimizerSpec first = kSgd, second = kSgd;
  first.parameters = {"w"};
  second.parameters = {"b"};
  Trained trained(test_case(constant_setup, constant_loss, {.optimizers = {first, second}}), true,
                  std::ldexp(1.0, 127));
  trained.trainer->run_step();
  EXPECT_EQ(trained.trainer->stepped(), (std::vector<bool>{false, true}));
  EXPECT_EQ(trained.weight(kW).item<float>(), 0);
  EXPECT_EQ(trained.weight(kB).item<float>(), -0.5F);
  EXPECT_EQ(trained.trainer->scale(), std::ldexp(1.0, 126)) << "one of them is enough, once";
  EXPECT_EQ(trained.trainer->growth_tracker(), 0);
}

class Events : public StepObserver {
 public:
  explicit Events(const Trainer& trainer) : trainer_(trainer) {}
  void loss(const Tensor&) override { list.emplace_back("loss"); }
  void scaled_gradients() override { note("scaled"); }
  void gradients(std::size_t) override { note("unscaled"); }
  void stepping(std::size_t) override { note("stepping"); }
  std::vector<std::string> list;

 private:
  void note(const std::string& what) {
    list.push_back(what + " " + std::to_string(trainer_.state()[kW].grad().item<int>()));
  }
  const Trainer& trainer_;
};

TEST(Trainer, IsLookedAtBetweenTheParts) {
  Trained trained(
      test_case(constant_setup, constant_loss, {.optimizers = {kSgd}, .micro_batches = 2, .clip_norm = 1}),
      true, 8);
  Events events(*trained.trainer);
  trained.trainer->run_step(&events);
  EXPECT_EQ(events.list, (std::vector<std::string>{"loss", "loss", "scaled 32", "unscaled 4", "stepping 0"}));
  EXPECT_LT(trained.trainer->state()[kW].grad().item<float>(), 1) << "clipped afterwards";
}

TEST(Trainer, LooksAtTheGradientsOfALoopThatLeavesUnscalingToStep) {
  Case definition = test_case(constant_setup, constant_loss, {.optimizers = {kSgd}});
  definition.training->step = [](Trainer& trainer) {
    trainer.zero_grad();
    trainer.backward(trainer.forward(0));
    trainer.step(0);
    trainer.update();
  };
  Trained trained(std::move(definition), true, 8);
  Events events(*trained.trainer);
  trained.trainer->run_step(&events);
  EXPECT_EQ(events.list, (std::vector<std::string>{"loss", "scaled 32", "unscaled 4", "stepping 4"}));
}

// A power of two changes no bit of a gradient that stays in range.
TEST(Trainer, ScalingInFp32ChangesNothing) {
  const auto weights = [](bool scaler, int ahead) {
    Trained trained(test_case(random_setup, nonlinear_loss,
                              {.optimizers = {{.kind = OptimizerKind::kAdamW, .learning_rate = 0.01}}}),
                    scaler);
    if (ahead > 0) trained.trainer->load_batches(ahead);
    for (int step = 0; step < 10; ++step) trained.trainer->run_step();
    return at::cat({trained.weight(kW), trained.weight(kB)});
  };
  EXPECT_TRUE(at::equal(weights(true, 0), weights(false, 0)));
  EXPECT_TRUE(at::equal(weights(false, 7), weights(false, 0))) << "batches drawn ahead are the same";
}

std::string misuse(Training training, void (*step)(Trainer&), bool scaler = false) {
  training.step = step;
  try {
    Trained trained(test_case(constant_setup, constant_loss, std::move(training)), scaler);
    trained.trainer->run_step();
  } catch (const Misuse& error) {
    return error.what();
  }
  return "";
}

TEST(Trainer, ASecondBackwardOfTheSameMicroBatchIsMisuse) {
  const auto twice = [](Trainer& trainer) {
    trainer.zero_grad();
    trainer.backward(trainer.forward(0));
    trainer.backward(trainer.forward(0));
  };
  EXPECT_NE(misuse({.optimizers = {kSgd}}, twice).find("more often than there are micro-batches"),
            std::string::npos);
}

TEST(Trainer, UnscalingAnIncompleteBatchIsMisuse) {
  const auto early = [](Trainer& trainer) {
    trainer.zero_grad();
    trainer.backward(trainer.forward(0));
    trainer.unscale(0);
  };
  EXPECT_NE(misuse({.optimizers = {kSgd}, .micro_batches = 2}, early).find("1 of 2 micro-batches"),
            std::string::npos);
}

TEST(Trainer, AMicroBatchInThePlaceOfAnotherIsMisuse) {
  const auto same = [](Trainer& trainer) {
    trainer.zero_grad();
    trainer.backward(trainer.forward(0));
    trainer.backward(trainer.forward(0));
    trainer.step(0);
    trainer.update();
  };
  EXPECT_NE(
      misuse({.optimizers = {kSgd}, .micro_batches = 2}, same).find("micro-batch 0 has a second backward"),
      std::string::npos);
  const auto forward_first = [](Trainer& trainer) {
    trainer.zero_grad();
    const Tensor first = trainer.forward(0), second = trainer.forward(1);
    trainer.backward(second);
    trainer.backward(first);
    trainer.step(0);
    trainer.update();
  };
  EXPECT_EQ(misuse({.optimizers = {kSgd}, .micro_batches = 2}, forward_first), "");
}

// A first backward that only looks, as sharpness-aware minimization has.
TEST(Trainer, ZeroGradBeginsAnew) {
  const auto twice = [](Trainer& trainer) {
    for (int pass = 0; pass < 2; ++pass) {
      trainer.zero_grad();
      trainer.backward(trainer.forward(0));
    }
    trainer.step(0);
    trainer.update();
  };
  EXPECT_EQ(misuse({.optimizers = {kSgd}}, twice, true), "");
  const auto forgotten = [](Trainer& trainer) {
    trainer.zero_grad();
    trainer.backward(trainer.forward(0));
    trainer.zero_grad();
    trainer.step(0);
  };
  EXPECT_NE(misuse({.optimizers = {kSgd}}, forgotten).find("after backward of 0 of 1 micro-batches"),
            std::string::npos);
}

TEST(Trainer, ClippingAfterTheStepIsMisuse) {
  const auto late = [](Trainer& trainer) {
    trainer.zero_grad();
    trainer.backward(trainer.forward(0));
    trainer.step(0);
    trainer.clip();
    trainer.update();
  };
  for (const bool scaler : {false, true}) {
    EXPECT_NE(misuse({.optimizers = {kSgd}, .clip_norm = 1}, late, scaler).find("are clipped after its step"),
              std::string::npos);
  }
}

TEST(Trainer, SchedulesThatNoStepAdvancesAreNamed) {
  const auto unused = [](double init_scale) {
    Case definition = test_case(constant_setup, constant_loss,
                                {.optimizers = {kSgd}, .schedules = {{.optimizer = 0, .gamma = 0.5}}});
    definition.training->step = [](Trainer& trainer) {
      trainer.zero_grad();
      trainer.backward(trainer.forward(0));
      trainer.step(0);
      trainer.update();
    };
    Trained trained(std::move(definition), true, init_scale);
    trained.trainer->run_step();
    return trained.trainer->order().unused_schedules();
  };
  EXPECT_EQ(unused(8).size(), 1U);
  EXPECT_TRUE(unused(std::ldexp(1.0, 127)).empty()) << "the step was skipped: it could not be advanced";
}

TEST(Trainer, ALossThatIsNoScalarIsMisuse) {
  const auto each = [](Trainer& trainer) { trainer.backward(trainer.state()[kW].expand({3}) * 1); };
  EXPECT_NE(misuse({.optimizers = {kSgd}}, each).find("the loss is no scalar, it has 3 elements"),
            std::string::npos);
}

TEST(Trainer, NumbersOfWhatIsNotThereAreMisuse) {
  const auto says = [](void (*step)(Trainer&)) { return misuse({.optimizers = {kSgd}}, step); };
  EXPECT_EQ(says([](Trainer& trainer) { trainer.forward(1); }),
            "there is no micro-batch 1: an effective batch has 1");
  EXPECT_EQ(says([](Trainer& trainer) {
              trainer.backward(trainer.forward(0));
              trainer.step(1);
            }),
            "there is no optimizer 1: the training has 1");
  EXPECT_EQ(says([](Trainer& trainer) { trainer.advance_schedule(0); }),
            "there is no schedule 0: the training has 0");
}

TEST(Trainer, AScheduleThatAdvancesTwiceIsMisuse) {
  const auto twice = [](Trainer& trainer) {
    standard_step(trainer);
    trainer.advance_schedule(0);
  };
  EXPECT_NE(misuse({.optimizers = {kSgd}, .schedules = {{.optimizer = 0, .gamma = 0.5}}}, twice)
                .find("advances twice in one step"),
            std::string::npos);
}

// As the two halves of an adversarial training do.
TEST(Trainer, OptimizersMayTakeTurns) {
  OptimizerSpec first = kSgd, second = kSgd;
  first.parameters = {"w"};
  second.parameters = {"b"};
  Case definition = test_case(constant_setup, constant_loss, {.optimizers = {first, second}});
  definition.training->step = [](Trainer& trainer) {
    trainer.zero_grad();
    trainer.backward(trainer.forward(0));
    trainer.step(static_cast<std::size_t>(trainer.iteration() % 2));
    trainer.update();
  };
  Trained trained(std::move(definition), true, 8);
  trained.trainer->run_step();
  EXPECT_EQ(trained.trainer->step_called(), (std::vector<bool>{true, false}));
  EXPECT_THROW(trained.trainer->order().check_all_stepped(), Misuse) << "the second one has not had its turn";
  trained.trainer->run_step();
  EXPECT_EQ(trained.trainer->stepped(), (std::vector<bool>{false, true}));
  EXPECT_NO_THROW(trained.trainer->order().check_all_stepped());
  EXPECT_EQ(trained.trainer->applied_steps(), 2);
}

TEST(Trainer, WhatPyTorchsOptimizersRefuseIsMisuse) {
  const auto fault = [](OptimizerSpec spec) { return misuse({.optimizers = {std::move(spec)}}, nullptr); };
  EXPECT_EQ(fault({.learning_rate = -0.1}), "optimizer 0: Invalid learning rate: -0.1");
  EXPECT_EQ(fault({.learning_rate = std::nan("")}), "optimizer 0: Invalid learning rate: nan");
  EXPECT_EQ(fault({.learning_rate = 1, .momentum = -1}), "optimizer 0: Invalid momentum value: -1");
  EXPECT_EQ(fault({.kind = OptimizerKind::kAdamW, .learning_rate = 1, .beta2 = 1}),
            "optimizer 0: Invalid beta parameter at index 1: 1");
  EXPECT_EQ(fault({.kind = OptimizerKind::kAdamW, .learning_rate = 1, .eps = -1}),
            "optimizer 0: Invalid epsilon value: -1");
  EXPECT_EQ(fault({.learning_rate = 1, .weight_decay = -1}), "optimizer 0: Invalid weight_decay value: -1");
  EXPECT_NE(fault({.learning_rate = 1, .parameters = {"q"}}).find("without parameters"), std::string::npos);
}

TEST(Trainer, ABatchOfMoreRowsThanThereAreIsMisuse) {
  EXPECT_EQ(misuse({.optimizers = {kSgd}, .micro_batches = 3}, nullptr),
            "an effective batch has 12 rows, and 'x' only 8: give a smaller batch");
}

TEST(Trainer, AParameterInTwoOptimizersIsMisuse) {
  OptimizerSpec both = kSgd, one = kSgd;
  one.parameters = {"b"};
  EXPECT_EQ(misuse({.optimizers = {both, one}}, nullptr), "parameter 'b' is in two optimizers");
}

}  // namespace
}  // namespace ampgate::cases
