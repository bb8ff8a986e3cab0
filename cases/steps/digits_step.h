// The digits classifier, trained from random weights: what differs between the cases is how.
#pragma once

#include <string>

#include "cases/case.h"

namespace ampgate::cases {

// A case of this name whose batches are rows of the training digits, and which is tried on the held-out
// ones.
Case digits_step(std::string name, Training training);

}  // namespace ampgate::cases
