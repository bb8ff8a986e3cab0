// From the samples of all bench processes to what a record says about a trial's time, speed-up and memory.
#pragma once

#include <string>

#include "results/journal.h"
#include "results/rules.h"

namespace ampgate::results {

// The trial's `measurement` as in records: a verdict, and numbers where the verdict carries them. Null when
// the bench phase was not asked about this trial.
Json measurement(const RunData& run, const std::string& id, const Rules& rules);

// Over all bench processes: the first verdict that is not "measured", with its reason; else "measured". Null:
// none yet.
Json measurement_verdict(const RunData& run, const std::string& id);

// The largest relative half width among the intervals of median and FP16:BF16 ratio of a case's trials, at
// look `look` of several; infinity when one has no interval. `group` is "case/shape".
double widest_interval(const RunData& run, const std::string& group, const Rules& rules, int look);

// Looks at the samples so far: 0 when the number of blocks was fixed.
int looks(const RunData& run);

}  // namespace ampgate::results
