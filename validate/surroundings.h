// The run once more on inputs that lie elsewhere, between memory that is not theirs. A kernel that takes a
// whole last tile of a tensor that ends before it, and multiplies what lies there by zero, is right only as
// long as nothing but numbers lies there, and as long as the memory is there at all.
#pragma once

#include "precision/precision.h"
#include "validate/criterion.h"
#include "validate/session.h"
#include "validate/trial_run.h"

namespace ampgate::validate {

// On the CPU on guarded memory (guarded_state.h), with the borders behind and before the tensors; on other
// devices between NaN. Adds `surroundings` to `accuracy`, or to `absent` with the reason.
void judge_surroundings(const Session& session, const cases::Case& definition,
                        const precision::Precision& precision, const TrialRun& run,
                        const Criterion& criterion, results::Json& accuracy, results::Json& absent,
                        Judgement& judgement);

}  // namespace ampgate::validate
