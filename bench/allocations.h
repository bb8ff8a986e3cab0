// Hears of every block that LibTorch's allocators hand out and take back on this thread, on any device.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <memory>

namespace ampgate::bench {

class AllocationListener {
 public:
  virtual ~AllocationListener() = default;
  virtual void allocated(void* block, std::int64_t bytes) = 0;
  virtual void released(void* block) = 0;
};

// Reports to `listener` while it lives. It takes the place of a memory profiler; never while something is
// timed.
class AllocationScope {
 public:
  explicit AllocationScope(AllocationListener& listener);

 private:
  c10::DebugInfoGuard guard_;
};

}  // namespace ampgate::bench
