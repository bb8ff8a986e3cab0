// Plays a sequence through precision::GradScaler and writes down what it does, call by call.
#pragma once

#include "results/json.h"
#include "validate/scaler_trace/sequence.h"

namespace ampgate::validate::scaler_trace {

// {"trace": [...], "state": {...}}, described in docs/scaler-trace.md. An operation that throws has the
// error's text in its entry, and the replay goes on.
results::Json replay(Sequence sequence);

}  // namespace ampgate::validate::scaler_trace
