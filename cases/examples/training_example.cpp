#include "cases/examples/training_example.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>

#include "cases/models/layers.h"
#include "precision/region.h"

namespace ampgate::cases::example {

using precision::region;

void add_weights(State& state, const Fill& fill) {
  add_random_layer(state, fill, "hidden", {32, 64});
  add_random_layer(state, fill, "head", {10, 32});
}

Outputs scores(State& state) {
  const at::Tensor x =
      region("hidden", linear_relu, state[kImages].flatten(1), state[kHidden], state[kHiddenBias]);
  return {region("head", linear, x, state[kHead], state[kHeadBias])};
}

at::Tensor cross_entropy(State& state) { return at::cross_entropy_loss(scores(state)[0], state[kLabels]); }

Case training(std::string name, OptimizerSpec optimizer, at::Tensor (*loss)(State&)) {
  return {.name = std::move(name),
          .dims = {"batch"},
          .suites = {{"examples", {{32}}}},
          .outputs = {"scores"},
          .setup = [](const Shape&, const Fill& fill) { return digits_state(fill, add_weights); },
          .run = scores,
          .facts = [](const Shape& shape) -> Facts {
            // Forward, and backward to weights and, but for the first layer's, inputs.
            constexpr double kProducts = 2 * 64 * 32 + 3 * 32 * 10;
            return classifier_facts(2.0 * kProducts * static_cast<double>(shape["batch"]));
          },
          .model = true,
          .shape_prefix = "batch",
          .training = Training{.loss = loss,
                               .optimizers = {std::move(optimizer)},
                               .rows = {{"images", "held_out_images"}, {"labels", "held_out_labels"}},
                               .schedules = {falling(0)}}};
}

}  // namespace ampgate::cases::example
