// Where the bad values of a training come from: its steps that went wrong, and what is swallowed on the way.
#pragma once

#include "validate/judgement.h"
#include "validate/training/training_setup.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {

// Traces the first bad step, if there is one, and those whose states are shadowed, in trials that pass as
// well: what is swallowed on the way shows in no result. Adds to the reason and the findings; returns the
// record's `explanation`.
results::Json explain_steps(const TrainingSetup& setup, const Way& way, const WatchedRun& watched,
                            Judgement& judgement);

}  // namespace ampgate::validate
