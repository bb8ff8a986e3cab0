// How much memory a run may take here.
#pragma once

#include <string>

#include "driver/worker_folder.h"

namespace ampgate::driver {

struct Memory {
  double host_bytes = 0.0;
  double device_bytes = 0.0;  // of an accelerator; of the CPU: 0
};

// What the system can give without swapping: MemAvailable, and what the control groups of this process (v1 or
// v2) leave of their limits. Infinity where the system does not say.
double available_memory_bytes();

// The host's memory that is free, and all of the device's. Asks the worker where it is no CPU.
Memory memory_for(const std::string& device, const WorkerFolder& folder);

}  // namespace ampgate::driver
