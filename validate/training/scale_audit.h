// Does what a training step does depend on the scale of its gradients? It must not: the optimizer sees
// unscaled ones. Clipping before unscale and everything like it is found so, however it is written.
#pragma once

#include <string>

#include "validate/training/training_setup.h"

namespace ampgate::validate {

// Trains in FP32 with a scaler, all steps of the rules, and takes each step a second time from the same state
// with another scale. Both are powers of two, so that a right loop steps with the same gradients to the last
// bit. Throws cases::Misuse for the first step that does not, and what operators throw. `clipping`: what
// audit_loop() took for clipping, named where it is.
void audit_scale(const TrainingSetup& setup, const std::string& clipping);

}  // namespace ampgate::validate
