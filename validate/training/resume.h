// Goes on with a training from a checkpoint: one batch again, or as many steps as are asked for.
#pragma once

#include "validate/training/training_setup.h"

namespace ampgate::validate {

// `request` is the member `checkpoint` of a plan of phase `resume`. Returns the body of `trial_finished`
// without `id`: what the steps came to, or the verdict of what they threw. Throws results::Error for a
// checkpoint that cannot be read, is of another training, or cannot be written.
results::Json resume_training(const TrainingSetup& setup, const precision::Precision& precision,
                              const results::Json& request);

}  // namespace ampgate::validate
