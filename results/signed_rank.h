// The distribution-free interval of Wilcoxon's signed-rank test.
#pragma once

#include <optional>
#include <vector>

#include "results/statistics.h"

namespace ampgate::results {

// Hodges and Lehmann's estimate of the centre: the median of the means of all pairs, each value with itself
// among them (Walsh averages). Not for an empty vector.
double signed_rank_centre(const std::vector<double>& values);

// The interval of the centre of independent values, each spread symmetrically about it (differences of two
// that are alike are): the Walsh averages that the exact signed-rank test does not reject (Hollander, Wolfe
// and Chicken 2014, Nonparametric Statistical Methods, section 3.2). Absent where so few values cannot miss
// so rarely: n of them miss on one side with a probability of at least 2^-n. Throws std::invalid_argument
// for a level outside (0, 1).
std::optional<Interval> signed_rank_interval(const std::vector<double>& values, double level);

}  // namespace ampgate::results
