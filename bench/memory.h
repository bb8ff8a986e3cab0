// Memory of a trial, as its device's allocator is asked for it, and what that allocator cannot see. Never
// beside timing.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "backends/backend.h"
#include "bench/cell.h"
#include "bench/growth.h"
#include "results/json.h"

namespace ampgate::bench {

// Of what the peak of one call consists, in bytes; the parts add up to `bytes`.
struct PeakParts {
  std::int64_t bytes = 0;
  std::int64_t outputs = 0;                          // what the call returns; of a training step: gradients
  std::int64_t casts = 0;                            // copies that autocast makes in its own type
  std::int64_t intermediates = 0;                    // results of operators that a later one takes
  std::map<std::string, std::int64_t> workspaces{};  // the rest, by the operator that asked for it
};

struct Memory {
  std::int64_t peak_bytes = 0;      // of one warm call, outputs alive
  std::int64_t allocations = 0;     // of one warm call
  std::int64_t output_bytes = 0;    // the least that a call must allocate: what it leaves that was not there
  std::int64_t retained_bytes = 0;  // what warming up left: workspaces
  std::int64_t resident_growth_bytes =
      0;                // of the process while warming up: includes what no allocator of LibTorch sees
  Holdings own;         // the trial's own tensors
  PeakParts peak;       // as one watched call has it
  Growth growth;        // over many further calls
  std::string problem;  // in words: memory that every further call keeps
};

// The body must not have run before in this process, else retained_bytes and resident_growth_bytes miss its
// first call. The caller holds the trial's numerics scope and an at::NoGradGuard. Throws what the body
// throws.
Memory measure_memory(Body& body, backends::Backend& backend);

// `model`: results of operators are named activations.
results::Json to_json(const Memory& memory, bool model);

}  // namespace ampgate::bench
