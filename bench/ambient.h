// What must not be going on around a measurement, because it would be measured, or would change what runs.
#pragma once

#include <c10/core/DeviceType.h>

#include <string>
#include <vector>

namespace ampgate::bench {

// In words, empty when all is well: observers or a profiler, anomaly mode, autocast switched on outside of
// the trial, grad mode or inference mode, a key of the dispatcher that this thread includes or excludes
// beyond LibTorch's own, an interceptor. Of this thread; reads flags only.
std::vector<std::string> ambient_problems(c10::DeviceType device);

// Keys by which the dispatcher's state of this thread differs from LibTorch's own, but for those of autocast:
// "includes X", "excludes X".
std::vector<std::string> strange_keys();

}  // namespace ampgate::bench
