// Of what the memory of one call consists at its peak.
#pragma once

#include "backends/backend.h"
#include "bench/cell.h"
#include "bench/memory.h"

namespace ampgate::bench {

// Watches one warm call. What LibTorch's worker threads allocate is not seen. Throws what the body throws.
PeakParts peak_parts(Body& body, backends::Backend& backend);

}  // namespace ampgate::bench
