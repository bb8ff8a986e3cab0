// The verdict on one training trial: the plain run decides, the watched one explains.
#pragma once

#include <optional>
#include <vector>

#include "validate/training/final_quality.h"
#include "validate/training/training_setup.h"
#include "validate/training/trial_checkpoints.h"
#include "validate/training/watched_run.h"
#include "validate/trial.h"

namespace ampgate::validate {

// What the FP32 training leaves for the other precisions.
struct TrainingBaseline {
  WatchedRun watched;
  std::vector<FinalQuality> qualities;
  Untrained untrained;
};

// A training of its own, plainly: {"weights": digest of the weights that it ends with}.
results::Json trained_weights(const TrainingSetup& setup, const precision::Precision& precision);

// `baseline` is filled by the trial in FP32 and read by the others. `checkpoints` may be null. What operators
// throw passes through.
TrialAnswer judge_training(const TrainingSetup& setup, const precision::Precision& precision,
                           std::optional<TrainingBaseline>& baseline, TrialCheckpoints* checkpoints);

}  // namespace ampgate::validate
