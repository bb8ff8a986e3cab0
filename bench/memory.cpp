#include "bench/memory.h"

#include <ATen/core/Tensor.h>

#include <numeric>
#include <set>

#include "bench/peak.h"

namespace ampgate::bench {
namespace {

using results::Json;

constexpr int kWarmUpCalls = 2;

backends::MemoryUse metered(const Body& body, int calls, backends::Backend& backend,
                            backends::MemoryMeter& meter) {
  meter.begin();
  run_calls(body, calls);
  backend.synchronize();
  return meter.end();
}

std::int64_t bytes_of(const cases::State& state, cases::Role role) {
  std::int64_t bytes = 0;
  for (const auto& entry : state.tensors) {
    if (entry.role == role) bytes += static_cast<std::int64_t>(entry.tensor.nbytes());
  }
  return bytes;
}

// Outputs that share memory count once, and not at all where it is the trial's own.
std::int64_t least_bytes(const cases::Outputs& outputs, const cases::State& state) {
  std::set<const void*> seen;
  for (const auto& entry : state.tensors) seen.insert(entry.tensor.storage().data());
  std::int64_t bytes = 0;
  for (const auto& output : outputs) {
    if (seen.insert(output.storage().data()).second) bytes += static_cast<std::int64_t>(output.nbytes());
  }
  return bytes;
}

std::string problem_of(const Growth& growth) {
  const std::string over = " (seen over " + std::to_string(growth.calls) + " calls)";
  if (growth.allocator_leaks) {
    return "every call keeps about " + std::to_string(growth.allocator_bytes_per_call()) +
           " bytes of LibTorch's allocator after its outputs are released: a leak of tensors" + over;
  }
  if (growth.malloc_leaks) {
    return "every call keeps about " + std::to_string(growth.malloc_bytes_per_call()) +
           " bytes of malloc that LibTorch's allocator was not asked for: a leak" + over;
  }
  if (growth.resident_leaks) {
    return "every call makes the resident set grow by about " +
           std::to_string(growth.resident_bytes_per_call()) +
           " bytes that no allocator was asked for: a leak, of mapped memory maybe" + over;
  }
  return "";
}

}  // namespace

Memory measure_memory(const Body& body, backends::Backend& backend) {
  const auto meter = backend.memory_meter();
  Memory memory;
  const std::int64_t resident_before = resident_bytes();
  memory.retained_bytes = metered(body, kWarmUpCalls, backend, *meter).retained_bytes;
  memory.resident_growth_bytes = resident_bytes() - resident_before;

  const auto use = metered(body, 1, backend, *meter);
  memory.peak_bytes = use.peak_bytes;
  memory.allocations = use.allocations;
  memory.input_bytes = bytes_of(*body.state, cases::Role::kInput);
  memory.weight_bytes = bytes_of(*body.state, cases::Role::kWeight);
  memory.output_bytes = least_bytes(run_calls(body, 1), *body.state);
  memory.peak = peak_parts(body, backend);
  memory.growth = measure_growth(body, backend);
  memory.problem = problem_of(memory.growth);
  return memory;
}

Json to_json(const Memory& memory, bool model) {
  Json parts{{"bytes", memory.peak.bytes},
             {"outputs", memory.peak.outputs},
             {"casts", memory.peak.casts},
             {model ? "activations" : "intermediates", memory.peak.intermediates},
             {"workspaces", memory.peak.workspaces}};
  return {{"peak_bytes", memory.peak_bytes},
          {"allocations", memory.allocations},
          {"retained_bytes", memory.retained_bytes},
          {"resident_growth_bytes", memory.resident_growth_bytes},
          {"least_bytes", memory.output_bytes},
          {"input_bytes", memory.input_bytes},
          {"weight_bytes", memory.weight_bytes},
          {"peak_parts_bytes", std::move(parts)},
          {"growth", to_json(memory.growth)},
          {"absent", {{"optimizer_bytes", "inference has no optimizer"}}}};
}

}  // namespace ampgate::bench
