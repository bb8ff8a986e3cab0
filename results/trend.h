// What the order of the blocks says: do the values drift within processes, do neighbours resemble each other?
#pragma once

#include <optional>

#include "results/series.h"

namespace ampgate::results {

// Theil-Sen slope: the median of (y_j - y_i) / (j - i) over all pairs within a process; 0 without pairs.
double slope_per_block(const Series& series);

// Autocorrelation of neighbours within processes, about each process's mean, pooled over processes. The mean
// that is taken from the same n values pulls it down by about 1/n (Kendall 1954, Biometrika 41); that is
// added back.
double lag1_autocorrelation(const Series& series);

// Two-sided p-value of no drift: Kendall's S of value against order, added up over processes (Mann 1945;
// van Belle and Hughes 1984, Water Resources Research 20), normal with continuity correction. Its variance is
// inflated by what neighbours resemble each other beside the slope (Yue and Wang 2004, Water Resources
// Management 18). Absent where no process has 3 values, or fewer than 6 stand in such processes.
std::optional<double> drift_p_value(const Series& series);

// One-sided p-value of no likeness of neighbours: serial correlation of ranks within processes (Wald and
// Wolfowitz 1943; on ranks Bartels 1982, JASA 77) after the slope is taken out, with its exact mean and
// variance over all orders, normal. Absent as above.
std::optional<double> lag1_p_value(const Series& series);

}  // namespace ampgate::results
