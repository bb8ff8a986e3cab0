// What the trainings of a record came to, as text.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::driver {

// A row for each training trial: updates applied, the scale, gradients against FP64, final quality against
// FP32; then what a training verdict does not prove. Empty without training.
std::string training_table(const results::Json& record, bool colour);

}  // namespace ampgate::driver
