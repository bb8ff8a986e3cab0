// Autocast or scaling: which of the two is to blame when a training in 16 bit fails.
#pragma once

#include <optional>
#include <string>

#include "cases/training/checkpoint.h"
#include "validate/training/training_setup.h"

namespace ampgate::validate {

// What failed a trial, and where it shows again.
struct Trouble {
  enum class Kind {
    kSteps,     // values that are not finite, or skipped steps: `steps` of them from `state` on
    kGradient,  // the gradient of one shadow step, `state`
    kUpdates,   // an update that changed nothing: the step from `state` on
    kQuality    // of the trained model: the whole training, of this seed alone
  };
  Kind kind = Kind::kSteps;
  std::optional<cases::Checkpoint> state{};  // none: the beginning
  int steps = 1;
  double scale = precision::GradScalerOptions{}.init_scale;  // that the trial has there
  bool skips_too_often = false;                              // by the share of its steps
};

struct Isolation {
  results::Json json;  // {"first_step", "steps", "ways": {name: {...}}, "in_words"}
  std::string words;
};

// Runs what failed in five ways: fp32, autocast alone, scaling alone (FP32 with a scaler), both, and
// everything converted without a scaler, and judges each by the rules. `trial` is the way that failed.
Isolation isolate(const TrainingSetup& setup, const Way& trial, const Trouble& trouble);

}  // namespace ampgate::validate
