// A trial's rates against what the device can do (Williams, Waterman and Patterson 2009, "Roofline").
#pragma once

#include <string>

#include "results/json.h"
#include "results/statistics.h"

namespace ampgate::results {

// What is measured: one trial in one mode.
struct Work {
  double flops = 0;  // of one call; 0: the case does not say
  double bytes = 0;
  std::string format;    // format_of()
  bool flushed = false;  // the caches were empty before each call
};

// Adds `tflops` and `gbps` to a measurement, each with its share of the ceiling of this run, and `roofline`:
// which roof is the nearer one, and what share of it was reached. `ceilings` is the record's, or null. What
// there is nothing to say about is named in `absent`.
void add_roofline(Json& measurement, const Work& work, const Estimate& time, const Json& ceilings);

// Why this time cannot be, in words: it is beyond what the device's maker says of it. Empty: it can, or no
// peak is known. Fast caches make a memory roof no limit for data that fit into them.
std::string impossible(const Work& work, const Estimate& time, const Json& ceilings);

}  // namespace ampgate::results
