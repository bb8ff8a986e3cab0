// Which rules accept more than those of an earlier run: so that nobody passes by asking for less unseen.
#pragma once

#include <vector>

#include "results/json.h"
#include "results/rules.h"

namespace ampgate::results {

// [{"rule": "/bounds/lambda", "before": 4.0, "now": 8.0}, ...] in the order of the rules' JSON; only
// relaxations. `before` or `now` is absent where the rule was not there. A change of the tie rule or of the
// name accepts neither more nor less.
Json relaxed_rules(const Rules& before, const Rules& now);

// What makes a rule accept more.
enum class Relaxed { kByMore, kByLess, kByTrue, kByFalse, kNever, kByEntries };

// By JSON pointer into to_json(Rules): every key but those of the entries below `required`,
// `minimum_accuracy`, `maximum_rmse`, `outputs` and `targets`, which are `kByEntries`.
const std::vector<std::pair<std::string, Relaxed>>& directions();

}  // namespace ampgate::results
