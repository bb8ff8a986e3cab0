// A training that misbehaves on request (request.h; the type is the one that autocast computes in): wrong (a
// weight is overwritten), read, make (a copy that it does not declare), nan, throw, hang. One row of its data
// overflows FP16 and no other type, so that FP16 skips the steps that meet it.
#include <ATen/autocast_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mse_loss.h>
#include <unistd.h>

#include <limits>
#include <stdexcept>

#include "cases/case.h"
#include "cases/fills.h"
#include "request.h"

namespace ampgate::cases {
namespace {

constexpr std::int64_t kRows = 64, kFeatures = 4;
constexpr double kBeyondHalf = 1e5;

enum : std::size_t { kX, kTarget, kWeight };

State setup(const Shape&, const Fill& fill) {
  at::Tensor x = fill.normal("x", {kRows, kFeatures});
  x[kRows / 2][0] = kBeyondHalf;
  return {{{"x", x},
           {"target", fill.uniform("target", {kRows, 1}, -0.5, 0.5)},
           {"w", fill.uniform("w", {1, kFeatures}, 0.1, 0.5), Role::kWeight},
           {"held_out_x", fill.normal("held_out_x", {kRows, kFeatures})},
           {"held_out_target", fill.uniform("held_out_target", {kRows, 1}, -0.5, 0.5)}}};
}

// Saturates at large inputs: the gradient is 0 there, and NaN where an infinity is multiplied by it.
Outputs predict(State& state) { return {at::linear(state[kX], state[kWeight]).tanh()}; }

void misbehave(const std::string& what, State& state, at::Tensor& loss) {
  if (what == "wrong") poke(state[kWeight], 1, 0.75F);
  if (what == "nan") poke(state[kWeight], 1, std::numeric_limits<float>::quiet_NaN());
  if (what == "read") loss.item();
  if (what == "make") loss = loss.clone();
  if (what == "throw") throw std::runtime_error("thrown on request");
  if (what == "hang") {
    for (;;) pause();
  }
}

at::Tensor loss(State& state) {
  static long calls = 0;
  at::Tensor value = at::mse_loss(predict(state)[0], state[kTarget]);
  const c10::ScalarType type =
      at::autocast::is_autocast_enabled(at::kCPU) ? at::autocast::get_autocast_dtype(at::kCPU) : at::kFloat;
  if (request().is_for(type) && ++calls > request().first_call) misbehave(request().what, state, value);
  return value;
}

const Registration registration{{
    .name = "train_misbehave",
    .dims = {"batch"},
    .suites = {{"smoke", {{8}}}},
    .outputs = {"y"},
    .setup = setup,
    .run = predict,
    .facts = [](const Shape&) -> Facts {
      return {.bound = {.family = Family::kModel}, .meaning = Meaning::kRegression, .targets = "target"};
    },
    .model = true,
    .shape_prefix = "batch",
    .training = Training{.loss = loss,
                         .optimizers = {{.learning_rate = 0.02, .momentum = 0.9}},
                         .rows = {{"x", "held_out_x"}, {"target", "held_out_target"}}},
}};

}  // namespace
}  // namespace ampgate::cases
