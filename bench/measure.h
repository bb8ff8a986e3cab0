// Phase `bench`: every case in seeded blocks that interleave its precisions, then the check of the outputs.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "bench/plan.h"
#include "results/protocol.h"

namespace ampgate::bench {

struct ProcessTotals {
  std::int64_t timed_ns = 0;  // inside timed sections
  std::int64_t clock_ns = 0;  // the shortest time that the timer reports for nothing at all
  results::Json conditions;   // before, after, and what the device told in between
};

// Writes the events of docs/protocol.md. An exception inside a trial is that trial's verdict. The caller
// holds an at::NoGradGuard.
ProcessTotals measure(const Plan& plan, backends::Backend& backend, results::EventWriter& events);

}  // namespace ampgate::bench
