// What an exception makes of a training trial.
#pragma once

#include <functional>

#include "precision/precision.h"
#include "validate/trial.h"

namespace ampgate::validate {

// guarded(), where what the training loop does wrong is a verdict.
TrialAnswer guarded_training(const precision::Precision& precision, const std::function<TrialAnswer()>& make);

}  // namespace ampgate::validate
