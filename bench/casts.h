// How much of a call are the casts that autocast inserts.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/backend.h"
#include "bench/cell.h"
#include "results/json.h"

namespace ampgate::bench {

struct Casts {
  std::int64_t count = 0;      // in one call, those that convert something
  std::vector<double> shares;  // of each watched call's time
};

// Several calls with an observer on, which lengthens short operators: the shares are no times. On a device
// that works beside the host, the host waits at both ends of each cast. The caller holds the trial's numerics
// scope. Throws what the body throws.
Casts measure_casts(Body& body, backends::Backend& backend);

// {"count", "shares"}
results::Json to_json(const Casts& casts);

}  // namespace ampgate::bench
