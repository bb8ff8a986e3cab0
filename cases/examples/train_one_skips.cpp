// Two optimizers and one scaler. The calibration's loss is made in FP16, and its gradients overflow at the
// first scales: its optimizer skips, the classifier's steps, and the scale backs off for both.
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>

#include "cases/examples/training_example.h"

namespace ampgate::cases::example {
namespace {

constexpr double kWeight = 16;  // of the calibration's loss

enum : std::size_t { kGain = kTensors, kOffset };

void add_all_weights(State& state, const Fill& fill) {
  add_weights(state, fill);
  state.tensors.push_back({"gain", at::ones({1, 1}), Role::kWeight});
  state.tensors.push_back({"offset", at::ones({1}), Role::kWeight});
}

// Fits a gain and an offset to the mean grey levels of the images, which should become 1.
at::Tensor calibration(State& state) {
  const at::Tensor level = state[kImages].flatten(2).mean(2);
  const at::Tensor error = at::linear(level, state[kGain], state[kOffset]) - 1;
  return error.square().mean() * kWeight;
}

at::Tensor loss(State& state) { return cross_entropy(state) + calibration(state); }

Case both() {
  OptimizerSpec calibrator = kSgd, classifier = kSgd;
  calibrator.learning_rate = 1e-4;
  calibrator.parameters = {"gain", "offset"};
  classifier.parameters = {"hidden", "head"};
  Case definition = training("train_one_skips", calibrator, loss);
  definition.setup = [](const Shape&, const Fill& fill) { return digits_state(fill, add_all_weights); };
  definition.training->optimizers.push_back(classifier);
  definition.training->schedules.push_back(falling(1));
  return definition;
}

const Registration registration{both()};

}  // namespace
}  // namespace ampgate::cases::example
