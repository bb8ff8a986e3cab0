// The digits classifier, trained from random weights: what differs between the cases is how.
#pragma once

#include <string>
#include <vector>

#include "cases/case.h"

namespace ampgate::cases {

// The learning rate of an optimizer falls by a fifth every ten updates: without that, how a training ends
// differs by chance more than by precision.
constexpr ScheduleSpec falling(std::size_t optimizer) {
  return {.optimizer = optimizer, .period = 10, .gamma = 0.8};
}

// Rows of the digits for training, as "images" (rows, 1, 8, 8) from 0 to 1 and "labels", then the weights
// that `add_weights` adds, then the held-out rows.
State digits_state(const Fill& fill, void (*add_weights)(State&, const Fill&));

// Appends "<name>.weight" of these sizes and "<name>.bias" as PyTorch starts its layers: uniform within
// 1 / sqrt(fan-in).
void add_random_layer(State& state, const Fill& fill, const std::string& name,
                      const std::vector<std::int64_t>& sizes);

// A case of this name whose batches are rows of the training digits, and which is tried on the held-out
// ones.
Case digits_step(std::string name, Training training);

}  // namespace ampgate::cases
