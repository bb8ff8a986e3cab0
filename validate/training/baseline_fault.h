// Why a training fails in FP32 already, where no precision is to blame: labels, the learning rate, or an
// operator.
#pragma once

#include <string>

#include "validate/training/training_setup.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {

// Throws CaseFault for a label that the model has no class for. Looked for before anything runs: a kernel
// throws, and on a GPU ends the process.
void check_labels(const TrainingSetup& setup);

// More than ten times the loss of the first step.
bool diverges(const WatchedRun& run);

// For an FP32 training that is not finite or diverges: whether a hundredth of the learning rates heals it is
// tried. Names that, or else says that the model or its data are at fault.
std::string fault_of_baseline(const TrainingSetup& setup, const WatchedRun& run);

}  // namespace ampgate::validate
