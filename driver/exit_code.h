// From a record to the program's exit code: the one place where that is decided.
#pragma once

#include "results/error.h"
#include "results/json.h"
#include "results/rules.h"

namespace ampgate::driver {

// Was any required trial judged? Where each is `unsupported`, or none was run, every verdict would be
// accepted.
bool judges_required(const results::Json& record, const results::Rules& rules);

// kOk when every required trial opened the gate and, where the run measures, was measured, and at least one
// was judged; else kFailed. A required trial that is unsupported fails unless the rules say otherwise; any
// measurement that was refused, changed its output, crashed or timed out fails.
results::ExitCode exit_code(const results::Json& record, const results::Rules& rules);

}  // namespace ampgate::driver
