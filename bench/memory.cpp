#include "bench/memory.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <set>

#include "bench/peak.h"
#include "cases/shared_memory.h"

namespace ampgate::bench {
namespace {

using results::Json;

backends::MemoryUse metered(backends::Backend& backend, backends::MemoryMeter& meter,
                            const std::function<void()>& work) {
  meter.begin();
  work();
  backend.synchronize();
  return meter.end();
}

// What shares memory counts once, and not at all where it is the trial's own.
std::int64_t least_bytes(const cases::Outputs& left, const Body& body) {
  std::set<const void*> seen;
  std::int64_t bytes = 0;
  for (const auto& tensor : left) {
    const void* storage = tensor.storage().data();
    if (!body.owns(storage) && seen.insert(storage).second)
      bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return bytes;
}

// Two calls' outputs are never in one place while both are alive. Steps of a training leave gradients, which
// are.
std::string kept_result(const cases::Outputs& first, Body& body) {
  if (body.with_gradients()) return "";
  body.prepare(1);
  const cases::Outputs second = run_calls(body, 1);
  for (const auto& a : first) {
    for (const auto& b : second) {
      if (!a.defined() || body.owns(a.storage().data()) || !cases::share_memory(a, b)) continue;
      return "a call gives back the memory that the call before had returned: a result that was kept";
    }
  }
  return "";
}

std::string problem_of(const Growth& growth) {
  const std::string over = " (seen over " + std::to_string(growth.calls) + " calls)";
  if (growth.allocator_leaks) {
    return "calls keep, in the mean, about " + std::to_string(growth.allocator_bytes_per_call()) +
           " bytes each of LibTorch's allocator after their outputs are released: a leak of tensors" + over;
  }
  if (growth.malloc_leaks) {
    return "calls keep, in the mean, about " + std::to_string(growth.malloc_bytes_per_call()) +
           " bytes each of malloc that LibTorch's allocator was not asked for: a leak" + over;
  }
  if (growth.resident_leaks) {
    return "calls make the resident set grow, in the mean, by about " +
           std::to_string(growth.resident_bytes_per_call()) +
           " bytes each that no allocator was asked for: a leak, of mapped memory maybe" + over;
  }
  return "";
}

}  // namespace

Memory measure_memory(Body& body, backends::Backend& backend) {
  const auto meter = backend.memory_meter();
  Memory memory;
  const std::int64_t resident_before = resident_bytes();
  memory.retained_bytes = metered(backend, *meter, [&] { body.warm_up(); }).retained_bytes;
  memory.resident_growth_bytes = resident_bytes() - resident_before;

  body.prepare(1);
  body.release();
  const auto use = metered(backend, *meter, [&] { run_calls(body, 1); });
  memory.peak_bytes = use.peak_bytes;
  memory.allocations = use.allocations;
  memory.own = body.holdings();
  body.prepare(1);
  cases::Outputs first = body.left_by_call(run_calls(body, 1));
  memory.output_bytes = least_bytes(first, body);
  memory.problem = kept_result(first, body);
  first.clear();
  memory.peak = peak_parts(body, backend);
  memory.growth = measure_growth(body, backend);
  if (memory.problem.empty()) memory.problem = problem_of(memory.growth);
  return memory;
}

Json to_json(const Memory& memory, bool model) {
  const bool trains = memory.own.optimizer.has_value();
  Json parts{{"bytes", memory.peak.bytes},
             {trains ? "gradients" : "outputs", memory.peak.outputs},
             {"casts", memory.peak.casts},
             {model ? "activations" : "intermediates", memory.peak.intermediates},
             {"workspaces", memory.peak.workspaces}};
  Json json{
      {"peak_bytes", memory.peak_bytes},         {"allocations", memory.allocations},
      {"retained_bytes", memory.retained_bytes}, {"resident_growth_bytes", memory.resident_growth_bytes},
      {"least_bytes", memory.output_bytes},      {"input_bytes", memory.own.inputs},
      {"weight_bytes", memory.own.weights},      {"peak_parts_bytes", std::move(parts)},
      {"growth", to_json(memory.growth)}};
  if (trains) {
    json["optimizer_bytes"] = *memory.own.optimizer;
  } else {
    json["absent"] = {{"optimizer_bytes", "inference has no optimizer"}};
  }
  return json;
}

}  // namespace ampgate::bench
