// What apply() was asked for, for those settings that the system does not tell back.
#pragma once

#include <cstdint>
#include <optional>

namespace ampgate::backends {

struct MallocSettings {
  std::optional<std::int64_t> mmap_threshold_bytes;  // absent: glibc's own, moving threshold
  std::optional<std::int64_t> trim_threshold_bytes;
};

// As set by apply() in this process.
const MallocSettings& malloc_settings();

// Threads that take part when LibTorch splits work into as many parts as it may; counted, not asked for.
int threads_that_run();

}  // namespace ampgate::backends
