// How good a model's answers are in each precision on its own data, as text.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::driver {

// A row for each trial with decisions or a regression: accuracy or RMS error, that against FP32's, how many
// decisions changed and how many of them rounding does not explain. Empty without such trials.
std::string quality_table(const results::Json& record, bool colour);

}  // namespace ampgate::driver
