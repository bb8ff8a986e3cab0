// Memory of a trial, as its device's allocator is asked for it, and what that allocator cannot see. Never
// beside timing.
#pragma once

#include <cstdint>
#include <string>

#include "backends/backend.h"
#include "bench/cell.h"
#include "results/json.h"

namespace ampgate::bench {

struct Memory {
  std::int64_t peak_bytes = 0;      // of one warm call, outputs alive
  std::int64_t allocations = 0;     // of one warm call
  std::int64_t retained_bytes = 0;  // what warming up left: workspaces
  std::int64_t resident_growth_bytes =
      0;                // of the process while warming up: includes what no allocator of LibTorch sees
  std::string problem;  // in words: memory that every further call keeps
};

// The body must not have run before in this process, else retained_bytes and resident_growth_bytes miss its
// first call. The caller holds the trial's numerics scope and an at::NoGradGuard. Throws what the body
// throws.
Memory measure_memory(const Body& body, backends::Backend& backend);

results::Json to_json(const Memory& memory);

}  // namespace ampgate::bench
