// Phase `inspect`, in a process of its own since it hooks into LibTorch: memory of all trials first, then the
// audits.
#pragma once

#include "backends/backend.h"
#include "bench/plan.h"
#include "results/protocol.h"

namespace ampgate::bench {

// Writes the events of docs/protocol.md. A problem makes the trial's measurement `refused`; an exception
// inside a trial makes it `crashed`. The caller holds an at::NoGradGuard.
void inspect(const Plan& plan, backends::Backend& backend, results::EventWriter& events);

}  // namespace ampgate::bench
