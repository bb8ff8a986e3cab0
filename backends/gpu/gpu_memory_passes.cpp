#include <ATen/DeviceAccelerator.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/kernels/memory_passes.h"

namespace ampgate::backends::gpu {
namespace {

class GpuMemoryPasses final : public MemoryPasses {
 public:
  GpuMemoryPasses(c10::DeviceIndex index, std::int64_t bytes) : index_(index), bytes_(bytes) {
    at::accelerator::setDeviceIndex(index);
    check(kernels::allocate(bytes_, &buffer_));
    write();
  }
  ~GpuMemoryPasses() override { static_cast<void>(kernels::release(buffer_)); }
  GpuMemoryPasses(const GpuMemoryPasses&) = delete;
  GpuMemoryPasses& operator=(const GpuMemoryPasses&) = delete;

  void read() override { check(kernels::read_pass(buffer_, bytes_, stream())); }
  void write() override { check(kernels::write_pass(buffer_, bytes_, stream())); }
  void copy() override { check(kernels::copy_pass(buffer_, bytes_, stream())); }

 private:
  void* stream() const { return at::accelerator::getCurrentStream(index_).native_handle(); }

  void check(const char* error) const {
    if (*error == '\0') return;
    throw DeviceError("device " + std::to_string(index_) + ": a pass over " + std::to_string(bytes_) +
                      " bytes fails (" + error + "); end other programs that use the device");
  }

  c10::DeviceIndex index_;
  std::int64_t bytes_;
  void* buffer_ = nullptr;
};

}  // namespace

std::unique_ptr<MemoryPasses> gpu_memory_passes(c10::DeviceIndex index, std::int64_t bytes) {
  constexpr std::int64_t kPage = 4096;
  return std::make_unique<GpuMemoryPasses>(index, (bytes + kPage - 1) / kPage * kPage);
}

}  // namespace ampgate::backends::gpu
