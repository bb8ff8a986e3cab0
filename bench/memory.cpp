#include "bench/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace ampgate::bench {
namespace {

constexpr int kWarmUpCalls = 2;
constexpr int kMeasuredCalls = 3;

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

backends::MemoryUse metered(const Body& body, int calls, backends::Backend& backend,
                            backends::MemoryMeter& meter) {
  meter.begin();
  run_calls(body, calls);
  backend.synchronize();
  return meter.end();
}

}  // namespace

Memory measure_memory(const Body& body, backends::Backend& backend) {
  const auto meter = backend.memory_meter();
  Memory memory;
  const std::int64_t resident_before = resident_bytes();
  memory.retained_bytes = metered(body, kWarmUpCalls, backend, *meter).retained_bytes;
  memory.resident_growth_bytes = resident_bytes() - resident_before;

  std::int64_t least_kept = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kMeasuredCalls; ++i) {
    const auto use = metered(body, 1, backend, *meter);
    memory.peak_bytes = use.peak_bytes;
    memory.allocations = use.allocations;
    least_kept = std::min(least_kept, use.retained_bytes);
  }
  if (least_kept > 0) {
    memory.problem =
        "every call keeps at least " + std::to_string(least_kept) + " bytes after its outputs are released";
  }
  return memory;
}

results::Json to_json(const Memory& memory) {
  return {{"peak_bytes", memory.peak_bytes},
          {"allocations", memory.allocations},
          {"retained_bytes", memory.retained_bytes},
          {"resident_growth_bytes", memory.resident_growth_bytes}};
}

}  // namespace ampgate::bench
