// What this device reaches at most in plain work: passes over memory and square matrix products. Times of
// cases are seen against it.
#pragma once

#include "backends/backend.h"
#include "results/json.h"

namespace ampgate::bench {

// `ceilings` of the event `done`: for each kind of work the times of single runs and what one run does
// (docs/protocol.md). The caller holds an at::NoGradGuard.
results::Json measure_ceilings(backends::Backend& backend);

}  // namespace ampgate::bench
