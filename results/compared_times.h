// Times of two records: the ratio B : A of medians, and what its interval says against the tolerance.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"
#include "results/statistics.h"

namespace ampgate::results {

// The samples of a record's measurement that its estimates rest on.
struct RecordedSamples {
  std::vector<Sample> all;
  std::vector<Sample> calm;  // those that no counter of the machine called disturbed
  std::string example;       // why one was disturbed
};

// In this mode (empty: warm).
RecordedSamples recorded_samples(const Json& measurement, const std::string& mode);

// B : A over the calm samples of both, since a machine that was busy during one run looks like slower code.
// Where they are too few, over all samples and without an interval, and `method` says how many were
// disturbed.
Estimate time_ratio(const RecordedSamples& a, const RecordedSamples& b, double level);

// `slower` where the whole interval of B : A lies above 1 + tolerance, `faster` where it lies below
// 1 / (1 + tolerance), `same` where it lies between the two, else `ambiguous`; so is a ratio without
// interval.
std::string time_verdict(const Estimate& ratio, double tolerance);

// "B takes 3.1 % longer than A (from 2.0 % longer to 4.2 % longer)"
std::string time_words(const Estimate& ratio);

// The level of each of `comparisons` intervals at which all of them together miss on one side with a
// probability of at most `chance` (Bonferroni).
double simultaneous_level(double chance, std::size_t comparisons);

// {"verdict", "ratio", "interval", "level", "tolerance", "samples", "processes", "disturbed", "method",
// "in_words"}
Json compared_times(const RecordedSamples& a, const RecordedSamples& b, double level, double tolerance);

}  // namespace ampgate::results
