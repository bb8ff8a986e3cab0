// Which devices a run is for.
#pragma once

#include <string>
#include <vector>

#include "driver/options.h"
#include "driver/worker_folder.h"

namespace ampgate::driver {

struct DeviceChoice {
  std::string name;    // "cpu", "cuda:0"
  bool tf32 = false;   // worth planning without being asked for
  int numa_node = -1;  // the nearest one; -1: none, or not known
};

// What the worker says about every device: [{"name", "usable", "model", "uuid", "fields", "problem"}].
results::Json ask_devices(const WorkerFolder& folder);

// The device that the options name (every usable one for "all"), else the first usable accelerator, else cpu.
// Asks the worker only where an accelerator can come into it. Throws results::UsageError for a name that is
// none, results::EnvironmentError for a device that is not usable, with the worker's reason.
std::vector<DeviceChoice> choose_devices(const std::string& wanted, const WorkerFolder& folder);

// The entry of this name in an answer of ask_devices(). Throws results::EnvironmentError when it is not
// usable.
const results::Json& usable_device(const results::Json& devices, const std::string& name);

}  // namespace ampgate::driver
