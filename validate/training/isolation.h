// Autocast or scaling: which of the two is to blame when a training in 16 bit fails.
#pragma once

#include <string>

#include "validate/training/training_setup.h"

namespace ampgate::validate {

struct Isolation {
  results::Json json;  // {"steps", "ways": {name: {...}}, "in_words"}
  std::string words;
};

// Runs the training's first `steps` steps in five ways: fp32, autocast alone, scaling alone (FP32 with a
// scaler), both, and everything converted without a scaler. `type` is the trial's.
Isolation isolate(const TrainingSetup& setup, c10::ScalarType type, int steps);

}  // namespace ampgate::validate
