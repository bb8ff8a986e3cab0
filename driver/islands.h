// What a record says about FP32 islands: the smallest set of regions that heals a trial.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

// One sentence for each trial that a set of islands heals, and for each that none does.
std::vector<std::string> remedies(const results::Json& record);

}  // namespace ampgate::driver
