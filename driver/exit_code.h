// From a record to the program's exit code: the one place where that is decided.
#pragma once

#include "results/error.h"
#include "results/json.h"
#include "results/rules.h"

namespace ampgate::driver {

// kOk when every required trial opened the gate and, where the run measures, was measured; else kFailed. A
// required trial that is unsupported fails only where the rules say so; any measurement that was refused,
// changed its output, crashed or timed out fails.
results::ExitCode exit_code(const results::Json& record, const results::Rules& rules);

}  // namespace ampgate::driver
