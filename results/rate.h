// Work over time, with the interval that the time has.
#pragma once

#include "results/json.h"
#include "results/statistics.h"

namespace ampgate::results {

// {"value", "interval"}: `work` of one call over the median time, times `per_ns`: 1/ns is 1e-3 tera and 1
// giga per second. No interval where the time has none.
Json rate(const Estimate& time, double work, double per_ns);

inline constexpr double kTera = 1e-3;
inline constexpr double kGiga = 1.0;

}  // namespace ampgate::results
