// What the gradient scaler did over a training: updates that were applied, steps that were skipped, and how
// its scale went.
#pragma once

#include "results/rules.h"
#include "validate/judgement.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {

// Counts of one optimizer.
struct Applied {
  int applied = 0;
  int skipped = 0;
  int longest_skip = 0;
  int last_skip = 0;  // steps at the end that were skipped
  int first = 0;      // the step of the first applied update, from 1; 0: there was none
};

Applied applied_by(const WatchedRun& run, std::size_t optimizer);

// {"applied", "skipped", "longest_skip", "first_applied", "optimizers", "scale"}: of the optimizer that
// skipped most. Skips beyond the rules, a scale that collapsed and one that falls without end worsen the
// judgement.
results::Json judge_scaling(const results::Rules::Training& rules, const WatchedRun& run, bool scaler,
                            Judgement& judgement);

}  // namespace ampgate::validate
