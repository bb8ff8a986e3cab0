// What a training loop does wrong by hand, where neither the scaler nor the trainer can see it: read off the
// operators of a few steps.
#pragma once

#include "validate/training/training_setup.h"

namespace ampgate::validate {

// Runs a fresh training for two steps as they come, for one that must be skipped where there is a scaler (its
// scale is infinite), and tries the model once. Throws cases::Misuse, precision::GradScalerError, and what
// operators throw.
void audit_loop(const TrainingSetup& setup, const Way& way);

}  // namespace ampgate::validate
