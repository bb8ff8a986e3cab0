// What a run over a geometric range of sizes says about a case: how time and memory grow, from which size on
// 16 bit pays, and the largest size of the range that fits into memory.
#pragma once

#include "results/journal.h"

namespace ampgate::results {

// The record's `sweep`, from the plan's and the finished `trials`. Sizes without a time are left out of what
// is estimated and named.
Json sweep_section(const RunData& run, const Json& trials, double level);

}  // namespace ampgate::results
