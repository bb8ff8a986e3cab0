// A small classifier of the digits, as the training examples change it: each goes wrong in one way.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "cases/case.h"
#include "cases/steps/digits_step.h"

namespace ampgate::cases::example {

// (batch, 1, 8, 8); two linear layers: 64 to 32 to 10.
enum : std::size_t { kImages, kLabels, kHidden, kHiddenBias, kHead, kHeadBias, kTensors };

inline constexpr OptimizerSpec kSgd{.kind = OptimizerKind::kSgd, .learning_rate = 0.1, .momentum = 0.9};

void add_weights(State& state, const Fill& fill);
Outputs scores(State& state);
at::Tensor cross_entropy(State& state);  // of the scores

// Batches of 32 in the suite `examples`, with a falling learning rate; `loss` in the place of the cross
// entropy where it is given.
Case training(std::string name, OptimizerSpec optimizer, at::Tensor (*loss)(State&) = cross_entropy);

}  // namespace ampgate::cases::example
