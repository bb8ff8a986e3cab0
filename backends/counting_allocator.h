// A CPU allocator that counts, put before LibTorch's own only while a meter runs.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace ampgate::backends {

// Counts what tensors and oneDNN's scratchpads ask of LibTorch's CPU allocator; memory that MKL or a library
// takes by itself is not seen. Meters may overlap or nest. Tensors that outlive a meter stay valid. Freeing a
// tensor that was made before the first running meter began does not count, because its size is not known;
// neither do requests for 0 bytes. begin() throws DeviceError when another allocator cannot be replaced.
std::unique_ptr<MemoryMeter> cpu_memory_meter();

}  // namespace ampgate::backends
