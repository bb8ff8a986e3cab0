// What phase 2 will time of a training, and what it must lead to.
#pragma once

#include <vector>

#include "cases/operator_recorder.h"
#include "results/json.h"
#include "validate/training/training_setup.h"

namespace ampgate::validate {

struct TimedSteps {
  // {"first_step": steps before, "weights": [digest at the first step, after it, ... at the end of the
  // training], "held_out": digest of the trained model's outputs on held-out data}
  results::Json evidence;
  std::vector<cases::OperatorRecord> operators;  // of the first of them
};

// The second half of the training: by then the scaler has found its scale. Runs the whole training with this
// way's seed, plainly but for digests in between.
TimedSteps timed_steps(const TrainingSetup& setup, const Way& way);

}  // namespace ampgate::validate
