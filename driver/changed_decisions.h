// What precisions do to decisions, in lines for people: how many changed, why, and one of them as an example.
#pragma once

#include <string>
#include <vector>

#include "results/json.h"

namespace ampgate::driver {

// A line for each trial that decides otherwise than it was compared with, on ordinary inputs, and how far
// from the boundary decisions change at most; 12 lines at most. Empty where nothing changed.
std::vector<std::string> changed_decisions(const results::Json& record);

}  // namespace ampgate::driver
