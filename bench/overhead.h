// What a call costs before any arithmetic: the dispatcher, measured by an operator that does nothing, by the
// same timer, in the same loop and under the same autocast scope as the trial.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/backend.h"
#include "bench/cell.h"
#include "results/json.h"

namespace ampgate::bench {

// Samples, each the mean over a batch of calls, in ns on the host.
struct Overhead {
  std::vector<double> call_ns;      // of a call whose body is one empty operator: scope and one dispatch
  std::vector<double> dispatch_ns;  // of each further empty operator in that body
  // Of the trial's own calls, on a device that works beside the host; empty elsewhere.
  std::vector<double> host_ns;    // to hand a call over
  std::vector<double> device_ns;  // as the device's events give it
};

// `calls`: of a cell of the trial. The caller holds the trial's numerics scope and an at::NoGradGuard.
Overhead measure_overhead(Body& body, std::int64_t calls, backends::Timer& timer);

results::Json to_json(const Overhead& overhead);

}  // namespace ampgate::bench
