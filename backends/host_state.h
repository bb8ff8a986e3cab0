// What else goes on in this machine: counters whose differences say whether something disturbed what was
// timed.
#pragma once

#include <cstdint>
#include <optional>

namespace ampgate::backends {

struct HostState {
  std::int64_t steal_ns = 0;      // taken from this process's CPUs by the hypervisor, in steps of 10 ms
  std::int64_t run_delay_ns = 0;  // that this process's threads waited for a CPU
  std::int64_t turns = 0;         // how often they were given one
  std::int64_t preemptions = 0;   // of all threads of this process
  double load = 0;                // runnable processes, average of the last minute
  std::int64_t memory_available_bytes = 0;
  std::optional<std::int64_t> memory_stall_us;  // that some process waited for memory; absent: the kernel
                                                // does not count it
};

// Counters since some start; what a container may not read is 0.
HostState host_state();

}  // namespace ampgate::backends
