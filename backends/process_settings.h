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

// Is the mmap threshold that apply() set the one by which glibc decides now? Asked by two blocks, one on each
// side of it. True when none was set.
bool mmap_threshold_in_force();

// Threads that take part when LibTorch splits work into as many parts as it may; counted, not asked for.
int threads_that_run();

}  // namespace ampgate::backends
