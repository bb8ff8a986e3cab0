// The digits classifier again, as the training examples change it: each goes wrong in one way.
#pragma once

#include <ATen/ops/cross_entropy_loss.h>

#include <string>

#include "cases/models/digits.h"
#include "cases/steps/digits_step.h"

namespace ampgate::cases {

inline constexpr OptimizerSpec kExampleSgd{
    .kind = OptimizerKind::kSgd, .learning_rate = 0.1, .momentum = 0.9};

// Batches of 32 in the suite `examples`; `loss` in the place of the cross entropy, where it is given.
inline Case training_example(std::string name, Training training, at::Tensor (*loss)(State&) = nullptr) {
  Case definition = digits_step(std::move(name), std::move(training));
  definition.suites = {{"examples", {{32}}}};
  if (loss != nullptr) definition.training->loss = loss;
  return definition;
}

inline at::Tensor cross_entropy(State& state) {
  return at::cross_entropy_loss(digits::scores(state)[0], state[digits::kLabels]);
}

}  // namespace ampgate::cases
