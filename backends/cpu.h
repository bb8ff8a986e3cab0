// The CPU as a backend; it is always there.
#pragma once

#include <memory>

#include "backends/backend.h"

namespace ampgate::backends {

std::unique_ptr<Backend> open_cpu();

// Model, stepping, microcode, instruction sets and memory of this machine. The uuid is a SHA-256 over what
// decides the arithmetic: machine-id, model, stepping, microcode and the capability that ATen chose. The
// machine-id itself is not in the result, since records are passed on.
Identity cpu_identity();

// Data and unified caches of the last level that the CPUs of this process have, together, by the kernel's
// word or by the processor's own where that is more; 0: not told.
std::int64_t cpu_last_level_cache_bytes();

// Every thread of LibTorch works on its own part.
std::unique_ptr<MemoryPasses> cpu_memory_passes(std::int64_t bytes);

Telemetry cpu_telemetry();

// Of as many cores as LibTorch has threads; `isa` names instruction sets as cpu_identity() does.
Peaks cpu_peaks(const std::string& isa);

}  // namespace ampgate::backends
