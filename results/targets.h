// Floors that rules hold for a device model, and whether a trial keeps them.
#pragma once

#include <string>

#include "results/journal.h"
#include "results/rules.h"

namespace ampgate::results {

// The model of the run's device; empty where no worker said it.
std::string device_model(const RunData& run);

// Adds `targets` to a measurement, one entry for each floor that the rules hold for this device and trial,
// and turns the verdict into `below-target` where an interval lies below its floor, into `ambiguous` where it
// holds the floor. Without any: `absent`, with what is missing. Where the trial's numbers are `unclear` (the
// reason in words), no floor is met and none missed.
void add_targets(Json& measurement, const RunData& run, const std::string& id, const Rules& rules,
                 const std::string& unclear);

}  // namespace ampgate::results
