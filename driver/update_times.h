// What a training step costs, and what an update that was really applied does.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

// One line for each training trial that was measured; empty when there is none.
std::string update_times_table(const results::Json& record, bool colour);

// One sentence for each training whose times are clear: its precisions side by side.
std::vector<std::string> update_times_words(const results::Json& record);

}  // namespace ampgate::driver
