// How fast a time grows with a size: the exponent of a power law.
#pragma once

#include <vector>

#include "results/statistics.h"

namespace ampgate::results {

struct SizedSamples {
  double size = 0;
  std::vector<Sample> samples;
};

// Slope of log y over log size by least squares. At least two sizes; all numbers above 0.
double log_slope(const std::vector<double>& sizes, const std::vector<double>& values);

// The largest factor by which a value lies off the power law of least squares; 1: on it.
double largest_deviation(const std::vector<double>& sizes, const std::vector<double>& values);

// Exponent e of t ~ size^e. Each block (process and number) that all sizes have gives one slope; the value is
// their median and the interval Student's t over the medians of processes, as for ratios (paired_ratio): a
// process is a sample here too. `mad` is that of the slopes. Throws std::invalid_argument for fewer than two
// different sizes and where no block is common to all.
Estimate growth_exponent(const std::vector<SizedSamples>& points, double level);

}  // namespace ampgate::results
