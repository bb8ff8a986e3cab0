// From a record to the program's exit code: the one place where that is decided.
#pragma once

#include "results/error.h"
#include "results/json.h"
#include "results/rules.h"

namespace ampgate::results {

// An `islands-*` trial of a case that needs none: neither success nor failure, and nothing to show.
bool is_needless(const Json& trial);

// Does the run not fail for this trial? `measures`: it is one that measures what passed.
bool is_fine(const Json& trial, const Rules& rules, bool measures);

// Was any required trial judged? Where each is `unsupported`, or none was run, every verdict would be
// accepted.
bool judges_required(const Json& record, const Rules& rules);

// kOk when every required trial opened the gate and, where the run measures, was measured, and at least one
// was judged; else kFailed. A required trial that is unsupported fails unless the rules say otherwise; any
// measurement that was refused, changed its output, crashed or timed out fails.
ExitCode exit_code(const Json& record, const Rules& rules);

}  // namespace ampgate::results
