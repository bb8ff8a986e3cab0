// The processors of this machine: cores, hardware threads, NUMA nodes; and which of them a worker runs on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/options.h"
#include "results/json.h"

namespace ampgate::driver {

// Those that this process may run on.
std::vector<int> allowed_cpus();

// "0,2-5" in ascending order, each once. Throws std::invalid_argument.
std::vector<int> cpus_from(const std::string& list);

// {"threads_per_core", "numa_nodes": {"0": "0-31", ...}}; what the kernel does not tell is absent.
results::Json processor_layout();

// Threads, affinity, malloc thresholds, huge pages: as in a plan's `settings`. By default one thread on one
// hardware thread of each core; on one NUMA node where one holds as many threads as were asked for, and
// rather on `nearest_node`, a GPU's. Throws results::UsageError for CPUs that are not there and for more
// threads than CPUs.
results::Json process_settings(const Options& options, int nearest_node = -1);

// The options with the threads and CPUs of a recorded run where they name none themselves; CPUs only where
// this process may use all of them.
Options with_recorded_settings(Options options, const results::Json& settings);

// process_settings() with the C library's own malloc thresholds and the system's huge pages.
results::Json with_default_malloc(results::Json settings);

}  // namespace ampgate::driver
