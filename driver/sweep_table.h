// What a sweep says, as a table and in a sentence for each case.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

// Empty where the record has no sweep.
std::string sweep_table(const results::Json& record, bool colour);
std::vector<std::string> sweep_words(const results::Json& record);

}  // namespace ampgate::driver
