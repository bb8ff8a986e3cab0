// Looks on while a trial's body runs once: what phase 1 let through must be what is timed, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "bench/cell.h"
#include "cases/case.h"
#include "cases/operator_recorder.h"
#include "results/json.h"

namespace ampgate::bench {

struct Audit {
  std::vector<cases::OperatorRecord> operators;
  std::int64_t calls = 0;             // operators that the body calls itself
  std::int64_t dispatches = 0;        // with those that they call
  std::vector<std::string> problems;  // in words; empty: the body is clean
};

// One run of the body, and on devices with streams two more that are recorded. A problem is
// - something that goes on around the body (ambient.h), or that it switches on;
// - a setting other than the one in `evidence`, or one that the body changes, for itself or for good;
// - what `facts` does not declare: a read of a value, a tensor filled or copied by the case, random numbers;
// - memory that is allocated while no operator runs;
// - operators and types other than those of the evidence's list;
// - on a device with streams: a body that cannot be recorded as one.
// The caller holds the trial's numerics scope and an at::NoGradGuard. Throws what the body throws.
Audit audit(Body& body, const cases::Facts& facts, const results::Json& evidence, backends::Backend& backend);

// {"operators", "calls", "dispatches", "problems"}
results::Json to_json(const Audit& audit);

}  // namespace ampgate::bench
