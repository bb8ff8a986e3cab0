// Of a trial's time, what is not arithmetic: the dispatcher, and the casts that autocast inserts. Reported
// beside the time, never taken off it.
#pragma once

#include <string>

#include "results/journal.h"
#include "results/statistics.h"

namespace ampgate::results {

// Adds `overhead` to a measurement that holds `audit` where there is one: what an empty operator took in the
// same loop, and the share of the trial's time that its operators' dispatch makes at that price, in words too
// where it is half of it or more. Named in `absent` where no process said.
void add_overhead(Json& measurement, const RunData& run, const std::string& id, const Estimate& time,
                  double level);

// Adds `casts` for trials under autocast, from the inspecting process's answer: their number and their share
// of a call that was watched.
void add_casts(Json& measurement, const std::string& id, const Json& inspected, double level);

}  // namespace ampgate::results
