// What the steps of a watched training say by themselves: values that are not finite, updates that change
// nothing, a loss that does not fall.
#pragma once

#include "validate/judgement.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {

// The loss, gradients and weights of each step. `scaler`: gradients that are not finite skip a step;
// scaling.h judges how many may.
void judge_finite(const WatchedRun& watched, bool scaler, Judgement& judgement);

// An update that was applied and changed no weight. `nothing_to_learn`: at the first of them the gradients
// are zero and nothing of them underflows; after steps that did change weights that is a training at its end.
void judge_updates(const WatchedRun& watched, bool nothing_to_learn, Judgement& judgement);

// Of the FP32 training.
void judge_progress(const WatchedRun& watched, Judgement& judgement);

// Throws cases::Misuse where a step was skipped and weights changed all the same.
void refuse_changes_in_skips(const WatchedRun& watched);

}  // namespace ampgate::validate
