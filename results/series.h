// Series of values by process, and what their processes say about where the values lie. On log scale
// throughout, where a ratio and its reciprocal differ in sign alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/statistics.h"

namespace ampgate::results {

// Values of each process in the order in which they were taken; no process is empty.
using Series = std::vector<std::vector<double>>;

// Middle value, or the mean of the two middle ones. The argument is a copy to reorder. Not for an empty
// vector.
double median(std::vector<double> values);

double mean(std::span<const double> values);

std::vector<double> pooled(const Series& series);

// A single process is cut into this many stretches, which stand in for processes.
inline constexpr std::size_t kStretches = 6;

// What differs independently: the processes, or, of one process, kStretches of neighbours of nearly equal
// length (batch means: Schmeiser 1982, Operations Research 30). Shorter than kStretches: one value each.
std::vector<std::span<const double>> units(const Series& series);

// Student's t interval for the centre of independent values: mean +- t s / sqrt(n). At least two values.
Interval student_interval(const std::vector<double>& values, double level);

// The same for the centre of `a` less that of `b`, whose spreads may differ (Welch 1947, Biometrika 34).
Interval welch_interval(const std::vector<double>& a, const std::vector<double>& b, double level);

struct Bracket {
  std::optional<Interval> interval;
  std::string method;  // how it was made, or why there is none
};

// An interval on log scale as one around `value`, widened to hold it: what is skewed may lie to one side of
// its own centre. Absent where numbers cannot hold it.
Bracket bracket(double value, const Interval& logs, const std::string& method);

// The bracket by Student's t over what each of units(series) gives on log scale; `what` names that.
Bracket bracket_by_units(const Series& series, double value, const std::vector<double>& logs,
                         const std::string& what, double level);

}  // namespace ampgate::results
