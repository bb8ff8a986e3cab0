// Series of values by process, and what resampling them says about their median. On log scale throughout,
// where a ratio and its reciprocal differ in sign alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "results/statistics.h"

namespace ampgate::results {

// Values of each process in the order in which they were taken; no process is empty.
using Series = std::vector<std::vector<double>>;

// Middle value, or the mean of the two middle ones. The argument is a copy to reorder. Not for an empty
// vector.
double median(std::vector<double> values);

// Autocorrelation of neighbours within processes, about each process's mean, pooled over processes. The mean
// that is taken from the same n values pulls it down by about 1/n (Kendall 1954, Biometrika 41); that is
// added back.
double lag1_autocorrelation(const Series& series);

// Theil-Sen slope: the median of (y_j - y_i) / (j - i) over all pairs within a process; 0 without pairs.
double slope_per_block(const Series& series);

// How many neighbours to take together until the means of such groups have a lag-1 autocorrelation below 0.1.
// A rest shorter than a group joins the last one.
std::size_t group_size(const Series& series);

std::size_t count_groups(const Series& series, std::size_t size);

// Percentile interval of the median of all values: processes are drawn with replacement, then groups of
// `size` neighbours inside each drawn process (hierarchical bootstrap, Davison and Hinkley 1997, section 3.8;
// groups kept whole, Carlstein 1986). With one process that process is drawn every time.
Interval bootstrap_median(const Series& series, std::size_t size, double level, std::uint64_t seed);

// The median of each process, or, with one process, of each of its groups: what differs independently.
std::vector<double> unit_medians(const Series& series, std::size_t size);

// Student's t interval for the centre of independent values: mean +- t s / sqrt(n). At least two values.
Interval student_interval(const std::vector<double>& values, double level);

}  // namespace ampgate::results
