// Can the user's own shapes be had, by the case and by the machine? Asked before a run begins.
#pragma once

#include <string>
#include <vector>

#include "driver/memory.h"
#include "driver/own_shapes.h"
#include "results/json.h"

namespace ampgate::driver {

// The worker's answer (`ampgate-validate facts`), one entry a shape, in order.
std::vector<results::Json> ask_facts(const WorkerFolder& folder, const std::vector<CaseShape>& shapes);

// Bytes that phase 1 holds at least for the FP32 trial: the tensors as they were set up, on the host, and on
// the device the copy that a trial runs on, and its outputs. Oracles and bounds come on top.
Memory least_memory(const results::Json& facts);

// Why so much memory is not there, in words; empty: it may be enough.
std::string too_large(const Memory& needed, const Memory& available, const std::string& device);

// Throws results::UsageError for the first shape that its case cannot have or that no memory is left for.
void check_shapes(const std::vector<CaseShape>& shapes, const WorkerFolder& folder,
                  const std::string& device);

}  // namespace ampgate::driver
