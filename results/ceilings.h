// What the device reached in plain work in this run, and what its maker says is the most.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::results {

// `ceilings` of a record from what the worker measured (docs/protocol.md): rates with their interval over
// single runs of one process. `measured`: null gives null.
Json ceilings(const Json& measured, double level);

// The format in which a trial of this precision multiplies: "fp32", "tf32", "fp16", "bf16".
std::string format_of(const std::string& precision, bool not_lowered);

}  // namespace ampgate::results
