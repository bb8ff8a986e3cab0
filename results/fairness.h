// May two records be compared, trial by trial? What decides the answer must be equal; what is being compared
// (device, driver, libraries, build) may differ and is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::results {

// A value that two records have differently; null where one lacks it.
struct Difference {
  std::string field;  // JSON pointer
  Json a, b;

  std::string words() const;  // "/seed: 1 in A, 2 in B"
};

// Everything in which two JSON values differ, leaf by leaf.
std::vector<Difference> differences(const Json& a, const Json& b, const std::string& field = "");

// The first thing that forbids a comparison of all trials: suite, seed, rules, settings of the plan,
// frequency governor, the length of a cell.
std::optional<Difference> unfair(const Json& record_a, const Json& record_b);

// The first thing that forbids a comparison of this trial: its shape, and by its evidence seed, rules,
// inputs, weights and the settings that were read back.
std::optional<Difference> unfair_trial(const Json& trial_a, const Json& trial_b);

// What the records were made with, where that differs: device, LibTorch and its libraries, build, ampgate,
// hardware threads and NUMA nodes, kernel. Allowed.
std::vector<Difference> different_makings(const Json& record_a, const Json& record_b);

}  // namespace ampgate::results
