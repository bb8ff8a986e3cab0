// What a self-test's answers add up to, as numbers and as text. docs/selftest.md explains them.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

// The faults of one trial that must be caught and were not.
std::vector<results::Json> not_caught(const results::Json& trial);

// The object `summary` of the record: counts of faults and catches, those of the tolerances in common use
// beside them, false alarms with the limit that the clean trials prove, and `good`.
results::Json selftest_summary(const results::Json& record);

// One row a kind; bits of one field in one row.
std::string selftest_table(const results::Json& record);

// What was missed, the false alarms, and the verdict on the detector.
std::string selftest_answer(const results::Json& record);

}  // namespace ampgate::driver
