// The digits classifier, trained from random weights: what differs between the cases is how.
#pragma once

#include <string>

#include "cases/case.h"

namespace ampgate::cases {

// The learning rate of an optimizer falls by a fifth every ten updates: without that, how a training ends
// differs by chance more than by precision.
constexpr ScheduleSpec falling(std::size_t optimizer) {
  return {.optimizer = optimizer, .period = 10, .gamma = 0.8};
}

// A case of this name whose batches are rows of the training digits, and which is tried on the held-out
// ones.
Case digits_step(std::string name, Training training);

}  // namespace ampgate::cases
