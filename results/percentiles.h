// Percentiles of the times of single calls, with intervals that take processes as the unit of chance.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "results/series.h"

namespace ampgate::results {

inline constexpr std::array kPercentiles{0.5, 0.9, 0.99};

struct Percentile {
  double probability = 0;
  std::optional<double> time_ns;     // absent: too few calls, `method` says how many are needed
  std::optional<Interval> interval;  // absent: `method` says why
  std::string method;
};

struct Latency {
  double min_ns = 0;
  double max_ns = 0;
  int calls = 0;
  int processes = 0;
  std::array<Percentile, kPercentiles.size()> percentiles;
};

// The time that a share `probability` of values does not exceed, from values in ascending order: the estimate
// that is right in the median whatever the distribution (Hyndman and Fan 1996, American Statistician 50, type
// 8; NumPy: "median_unbiased"). At 0.5 the middle value. Not for an empty span.
double quantile(std::span<const double> ascending, double probability);

// The calls of all processes together, `times_ns` in the order in which each process made them. A percentile
// needs 10 calls beyond it: 20, 100 and 1000 calls for p50, p90 and p99. Its interval is Student's t over the
// percentiles of processes on log scale (or of six stretches of one process), each of which needs 2 calls
// beyond it. Throws std::invalid_argument for no calls, an empty process, a time that is not finite and
// positive, a probability or level outside (0, 1).
Percentile percentile(const Series& times_ns, double probability, double level);

// All kPercentiles, and the extremes, which have no interval. Throws as above.
Latency latency(const Series& times_ns, double level);

}  // namespace ampgate::results
