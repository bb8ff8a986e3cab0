// Trainings that go wrong in FP16 alone, and at step 5: their outputs grow by some 12000 with each update,
// from 8192, and leave the range. What happens then is the case's own: infinities, an exception, a crash.
// AMPGATE_TRAINING_FAULT=no: infinities in all of them.
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mse_loss.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

constexpr double kTarget = 1e6;
constexpr double kLossScale = 1e-9;  // keeps gradients within FP16's range, with a scaler and without

enum : std::size_t { kX, kY, kWeight };

State setup(const Shape&, const Fill& fill) {
  return {{{"x", fill.normal("x", {64, 8}) + 128},
           {"y", at::full({64, 4}, kTarget)},
           {"w", fill.uniform("w", {4, 8}, 7.9, 8.1), Role::kWeight},
           {"held_out_x", fill.normal("held_out_x", {16, 8}) + 128},
           {"held_out_y", at::full({16, 4}, kTarget)}}};
}

Outputs outputs(State& state) { return {at::linear(state[kX], state[kWeight])}; }

using Fault = void (*)();

bool asked_for() {
  const char* const fault = std::getenv("AMPGATE_TRAINING_FAULT");
  return fault == nullptr || std::string(fault) != "no";
}

void goes_on() {}
void throws() { throw std::runtime_error("the batch cannot be trained on"); }
void crashes() { std::raise(SIGSEGV); }

template <Fault fault>
at::Tensor loss(State& state) {
  const at::Tensor out = outputs(state)[0];
  if (fault != goes_on && asked_for() && !at::isfinite(out).all().item<bool>()) fault();
  return at::mse_loss(out.to(state[kY].scalar_type()), state[kY]) * kLossScale;
}

Case overflowing(std::string name, at::Tensor (*loss)(State&)) {
  return {.name = std::move(name),
          .dims = {"batch"},
          .suites = {{"training", {{16}}}},
          .outputs = {"out"},
          .setup = setup,
          .run = outputs,
          .facts = [](const Shape&) -> Facts {
            return {.bound = {.family = Family::kModel}, .meaning = Meaning::kRegression, .targets = "y"};
          },
          .model = true,
          .shape_prefix = "batch",
          .training = Training{.loss = loss,
                               .optimizers = {{.learning_rate = 183}},
                               .rows = {{"x", "held_out_x"}, {"y", "held_out_y"}}}};
}

const Registration infinities{overflowing("train_late_overflow", loss<goes_on>)};
const Registration exceptions{overflowing("train_throws", loss<throws>)};
const Registration crash{overflowing("train_crashes", loss<crashes>)};

}  // namespace
}  // namespace ampgate::cases
