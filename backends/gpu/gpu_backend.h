// A GPU as a backend, for CUDA and ROCm alike: LibTorch's accelerator-neutral interface, and our kernels for
// the rest. AMPGATE_GPU_KIND ("cuda", "rocm") is defined by the module that this is compiled into.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/backend.h"
#include "backends/kernels/device_info.h"

namespace ampgate::backends::gpu {

// Both builds of LibTorch call their device CUDA.
inline constexpr c10::DeviceType kDeviceType = c10::kCUDA;

// Throws DeviceError when the device cannot be used.
std::unique_ptr<Backend> open_gpu(std::int64_t index);

// Two events on the current stream around what is timed.
std::unique_ptr<Timer> gpu_timer(c10::DeviceIndex index);

// From the statistics of LibTorch's caching allocator, in bytes as it rounds them. begin() resets the
// allocator's peak: one meter at a time.
std::unique_ptr<MemoryMeter> gpu_memory_meter(c10::DeviceIndex index);

// Runs `body` on a stream of its own, once to warm up and once while the stream is recorded, and throws the
// recording away. Empty when that worked, else the first thing that a recorded stream may not do.
std::string gpu_capture_problem(c10::DeviceIndex index, const std::function<void()>& body);

Identity gpu_identity(c10::DeviceIndex index);

// On the current stream, in a buffer that LibTorch's caching allocator does not know.
std::unique_ptr<MemoryPasses> gpu_memory_passes(c10::DeviceIndex index, std::int64_t bytes);

Peaks gpu_peaks(const kernels::DeviceInfo& info);

// By the vendor's management library, where the driver brings one. What it does not tell is absent.
Telemetry gpu_telemetry(const kernels::DeviceInfo& info);
// Serial number, firmware, limits, error counters and so on; without the library the one field "management"
// says why.
Fields gpu_facts(const kernels::DeviceInfo& info);

}  // namespace ampgate::backends::gpu
