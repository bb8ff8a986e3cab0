// Phase `bench`: every case in seeded blocks that interleave its precisions, then the check of the outputs.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "bench/plan.h"
#include "results/protocol.h"

namespace ampgate::bench {

// Writes the events of docs/protocol.md and returns the time spent inside timed sections. An exception inside
// a trial is that trial's verdict. The caller holds an at::NoGradGuard.
std::int64_t measure(const Plan& plan, backends::Backend& backend, results::EventWriter& events);

}  // namespace ampgate::bench
