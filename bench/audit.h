// Looks on while a trial's body runs once: what phase 1 let through must be what is timed, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "bench/cell.h"
#include "cases/operator_recorder.h"
#include "results/json.h"

namespace ampgate::bench {

struct Audit {
  std::vector<cases::OperatorRecord> operators;
  std::vector<std::string> problems;  // in words; empty: the body is clean
};

// One run of the body. A problem is something that goes on around it (ambient.h), a read of a device value
// that `facts_reads` does not declare, or operators and types other than those of `validated`, the evidence's
// list. The caller holds the trial's numerics scope and an at::NoGradGuard. Throws what the body throws.
Audit audit(const Body& body, const std::string& facts_reads, const results::Json& validated);

results::Json to_json(const Audit& audit);

}  // namespace ampgate::bench
