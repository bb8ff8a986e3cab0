#include <ATen/DeviceAccelerator.h>

#include "backends/gpu/gpu_backend.h"

namespace ampgate::backends::gpu {
namespace {

class GpuMemoryMeter final : public MemoryMeter {
 public:
  explicit GpuMemoryMeter(c10::DeviceIndex index) : index_(index) {}

  void begin() override {
    at::accelerator::synchronizeDevice(index_);
    at::accelerator::resetPeakStats(index_);
    before_ = at::accelerator::getDeviceStats(index_);
  }

  MemoryUse end() override {
    at::accelerator::synchronizeDevice(index_);
    const Stats after = at::accelerator::getDeviceStats(index_);
    const auto& bytes_before = before_.allocated_bytes[kAll];
    const auto& bytes_after = after.allocated_bytes[kAll];
    return {.peak_bytes = bytes_after.peak - bytes_before.current,
            .allocations = after.allocation[kAll].allocated - before_.allocation[kAll].allocated,
            .retained_bytes = bytes_after.current - bytes_before.current};
  }

 private:
  using Stats = c10::CachingDeviceAllocator::DeviceStats;
  static constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  c10::DeviceIndex index_;
  Stats before_;
};

}  // namespace

std::unique_ptr<MemoryMeter> gpu_memory_meter(c10::DeviceIndex index) {
  return std::make_unique<GpuMemoryMeter>(index);
}

}  // namespace ampgate::backends::gpu
