// The answer of a record in sentences: what may run in FP16 and in BF16, what each costs, what failed and
// why.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

std::vector<std::string> answer(const results::Json& record);

// Findings on edge inputs, grouped: one line for each kind, with the trials that share it.
std::vector<std::string> findings(const results::Json& record);

}  // namespace ampgate::driver
