#include "bench/allocations.h"

#include <c10/core/Allocator.h>

namespace ampgate::bench {
namespace {

class Reporter final : public c10::MemoryReportingInfoBase {
 public:
  explicit Reporter(AllocationListener& listener) : listener_(listener) {}
  bool memoryProfilingEnabled() const override { return true; }
  void reportMemoryUsage(void* block, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    if (bytes > 0) {
      listener_.allocated(block, bytes);
    } else if (bytes < 0) {
      listener_.released(block);
    }
  }

 private:
  AllocationListener& listener_;
};

}  // namespace

AllocationScope::AllocationScope(AllocationListener& listener)
    : guard_(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<Reporter>(listener)) {}

}  // namespace ampgate::bench
