// Times of two records: the ratio B : A of medians, and what its interval says against the tolerance.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/json.h"
#include "results/statistics.h"

namespace ampgate::results {

// The samples of a record's measurement that its estimates rest on.
struct RecordedSamples {
  std::vector<Sample> samples;
  // Why the record's own choice of samples decides nothing: too many were disturbed; else empty.
  std::string undecided;
};

// The turns of a record's processes by their number, where it took turns with other records.
struct Turns {
  std::string series;  // which records: equal in all of them; empty: none
  std::map<int, int> turn_of_process;
};

// Of the processes that measured in this mode (empty: warm).
Turns recorded_turns(const Json& record, const std::string& mode);

// In this mode (empty: warm).
RecordedSamples recorded_samples(const Json& measurement, const std::string& mode);

// One trial, or one of its modes, in two records.
struct TimedPair {
  RecordedSamples a, b;
  Turns turns_a, turns_b;
};

// B : A of medians: paired by turns where both records took them together, else as two runs that share
// nothing. Without an interval where either record calls its own samples undecided.
Estimate time_ratio(const TimedPair& pair, double level);

// `slower` where the whole interval of B : A lies above 1 + tolerance, `faster` where it lies below
// 1 / (1 + tolerance), `same` where it lies between the two, else `ambiguous`; so is a ratio without
// interval.
std::string time_verdict(const Estimate& ratio, double tolerance);

// "B takes 3.1 % longer than A (from 2.0 % longer to 4.2 % longer)"
std::string time_words(const Estimate& ratio);

// The level of each of `comparisons` intervals at which all of them together miss on one side with a
// probability of at most `chance` (Bonferroni).
double simultaneous_level(double chance, std::size_t comparisons);

// {"verdict", "ratio", "interval", "level", "tolerance", "samples", "processes", "in_turns", "method",
// "in_words"}
Json compared_times(const TimedPair& pair, double level, double tolerance);

}  // namespace ampgate::results
