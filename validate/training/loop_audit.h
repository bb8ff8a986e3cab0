// What a training loop does wrong by hand, where neither the scaler nor the trainer can see it: read off the
// operators of its steps.
#pragma once

#include <string>
#include <vector>

#include "validate/training/training_setup.h"

namespace ampgate::validate {

struct LoopAuditResult {
  // What looks like clipping before unscale, which only audit_scale() can tell: "the gradient of 'in' is
  // clipped (aten::mul_)"; empty: nothing does.
  std::string clipping;
  // What the training declares and no step of it does, which makes it another training, and no wrong one.
  std::vector<std::string> unused;
};

// Runs a fresh training, all steps of the rules, one more that must be skipped where there is a scaler (its
// scale is infinite), and tries the model once. Throws cases::Misuse, precision::GradScalerError, and what
// operators throw.
LoopAuditResult audit_loop(const TrainingSetup& setup, const Way& way);

}  // namespace ampgate::validate
