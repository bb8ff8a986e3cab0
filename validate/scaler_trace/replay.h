// Plays a sequence through precision::GradScaler and writes down what it does, call by call.
#pragma once

#include <ostream>

#include "validate/scaler_trace/sequence.h"

namespace ampgate::validate::scaler_trace {

// Writes {"trace": [...], "state": {...}}, described in docs/scaler-trace.md, on one line, entry by entry:
// together they may be many times as large as the sequence. An operation that throws has the error's text in
// its entry, and the replay goes on.
void replay(Sequence sequence, std::ostream& out);

}  // namespace ampgate::validate::scaler_trace
