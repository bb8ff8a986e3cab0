// From the samples of all bench processes to what a record says about a trial's time, speed-up and memory.
#pragma once

#include <string>

#include "results/journal.h"
#include "results/rules.h"

namespace ampgate::results {

// The trial's `measurement` as in records: a verdict, and numbers where the verdict carries them. Null when
// the bench phase was not asked about this trial. `ceilings` is the record's, or null.
Json measurement(const RunData& run, const std::string& id, const Rules& rules, const Json& ceilings);

// The same by the name of each other mode that was measured: {"cold": {...}, "latency": {...}}.
Json variants(const RunData& run, const std::string& id, const Rules& rules, const Json& ceilings);

// The refusal of the inspecting process; else, over all bench processes of this mode, the first verdict that
// is not "measured", with its reason; else "measured". Null: none yet.
Json measurement_verdict(const RunData& run, const std::string& id, const std::string& mode);

// The largest relative half width among the intervals of median and FP16:BF16 ratio of a case's trials, after
// `look` looks (0: their number was fixed); infinity when one has no interval. `group` is "case/shape".
double widest_interval(const RunData& run, const std::string& group, const Rules& rules, int look);

// Looks at the samples so far: 0 when the number of blocks was fixed.
int looks(const RunData& run);

}  // namespace ampgate::results
