// Two optimizers and one scaler. The calibration's loss is made in FP16, and its gradients overflow at the
// first scales: its optimizer skips, the classifier's steps, and the scale backs off for both.
#include <ATen/ops/mean.h>
#include <ATen/ops/ones.h>

#include "cases/examples/training_example.h"

namespace ampgate::cases {
namespace {

constexpr double kWeight = 16;  // of the calibration's loss

enum : std::size_t { kGain = digits::kBias4 + 1, kOffset };

// Fits a gain and an offset to the mean grey levels of the images, which should become 1.
at::Tensor calibration(State& state) {
  const at::Tensor half = state[digits::kImages].flatten(2).mean(2);
  const at::Tensor error = at::linear(half, state[kGain], state[kOffset]) - 1;
  return error.square().mean() * kWeight;
}

at::Tensor loss(State& state) { return cross_entropy(state) + calibration(state); }

Case example() {
  OptimizerSpec classifier = kExampleSgd, gain = kExampleSgd;
  classifier.parameters = {"conv", "fc"};
  gain.parameters = {"gain", "offset"};
  gain.learning_rate = 1e-4;
  Case definition = training_example(
      "train_one_skips", {.optimizers = {gain, classifier}, .schedules = {falling(0), falling(1)}}, loss);
  definition.setup = [digits = definition.setup](const Shape& shape, const Fill& fill) {
    State state = digits(shape, fill);
    const auto after_weights = state.tensors.begin() + kGain;
    state.tensors.insert(
        after_weights, {{"gain", at::ones({1, 1}), Role::kWeight}, {"offset", at::ones({1}), Role::kWeight}});
    return state;
  };
  return definition;
}

const Registration registration{example()};

}  // namespace
}  // namespace ampgate::cases
