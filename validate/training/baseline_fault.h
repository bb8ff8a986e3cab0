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

// The loss of the first step was exceeded ten times, at the end or on the way to an end that is no better
// than the beginning.
bool diverges(const WatchedRun& run);

// Is the mean loss of the last fifth no lower than that of the first?
bool makes_no_progress(const WatchedRun& run);

// For an FP32 training that is not finite or diverges. Where it ran away, its loss growing or a value
// overflowing after the first update, lower learning rates are tried, and named if they heal it; else the
// model or its data are at fault. `overflow`: the first bad value is one.
std::string fault_of_baseline(const TrainingSetup& setup, const WatchedRun& run, bool overflow);

}  // namespace ampgate::validate
