// What else changed between two records' trials: verdicts, errors, decisions, operators, memory.
#pragma once

#include "results/json.h"

namespace ampgate::results {

// Only what differs: `verdict` and `measurement_verdict` ({"a", "b", "change": "worse" | "better" |
// "other"}), `accuracy`, `decisions`, `regression`, `training` and `memory` (lists of {"field", "a", "b"}),
// `changed_decisions` ({"input", "id", "a", "b"}, 20 at most), `operators` ({"only_in_a", "only_in_b"}).
Json changes(const Json& trial_a, const Json& trial_b);

// How the verdict of a measurement changed, as above; null where it did not.
Json measurement_change(const Json& measured_a, const Json& measured_b);

}  // namespace ampgate::results
