#include "backends/gpu/gpu_backend.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstdlib>

#include "backends/digest_parts.h"
#include "backends/kernels/device_info.h"
#include "backends/kernels/digest_kernel.h"

namespace ampgate::backends::gpu {
namespace {

const std::string kKind = AMPGATE_GPU_KIND;

[[noreturn]] void fail(c10::DeviceIndex index, const std::string& what, const std::string& text) {
  throw DeviceError(kKind + ":" + std::to_string(index) + ": " + what + " (" + text +
                    "); check the driver and that no other process holds the device");
}

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(c10::DeviceIndex index) : index_(index) {
    if (const std::string error = kernels::read_device_info(index, info_); !error.empty()) {
      fail(index, "cannot be asked who it is", error);
    }
    at::accelerator::setDeviceIndex(index);
  }

  std::string name() const override { return kKind + ":" + std::to_string(index_); }
  c10::Device device() const override { return {kDeviceType, index_}; }
  Identity identity() const override { return gpu_identity(index_); }

  std::string unsupported(c10::ScalarType type, bool tf32) const override {
    if (tf32) return tf32_unsupported();
    switch (type) {
      case c10::kFloat:
      case c10::kDouble:
      case c10::kHalf:
        return {};
      case c10::kBFloat16:
        if (is_cuda() && info_.capability_major < 8)
          return "bfloat16 needs compute capability 8.0" + this_has();
        return {};
      default:
        return std::string("operators do not compute in ") + c10::toString(type) + " on GPUs";
    }
  }

  void synchronize() override { at::accelerator::synchronizeDevice(index_); }
  std::unique_ptr<Timer> timer() override { return gpu_timer(index_); }
  std::unique_ptr<MemoryMeter> memory_meter() override { return gpu_memory_meter(index_); }
  std::unique_ptr<MemoryPasses> memory_passes(std::int64_t bytes) override {
    return gpu_memory_passes(index_, bytes);
  }
  std::int64_t last_level_cache_bytes() const override {
    // MI300's cache between L2 and memory is not in the runtime's properties (AMD CDNA 3 white paper, 2023).
    constexpr std::int64_t kInfinityCache = std::int64_t{256} << 20;
    return info_.cache_bytes + (info_.architecture.starts_with("gfx942") ? kInfinityCache : 0);
  }
  Telemetry telemetry() override { return gpu_telemetry(info_); }
  Peaks peaks() const override { return gpu_peaks(info_); }

  std::string capture_problem(const std::function<void()>& body) override {
    return gpu_capture_problem(index_, body);
  }

  std::string digest(const at::Tensor& tensor) override {
    const at::Tensor dense = in_logical_order(tensor).to(device());
    const at::Tensor lanes = at::empty({2}, dense.options().dtype(c10::kLong));
    static_assert(sizeof(hash::Lanes) == 2 * sizeof(std::int64_t));
    void* const stream = at::accelerator::getCurrentStream(index_).native_handle();
    const std::string error = kernels::digest_bytes(
        dense.const_data_ptr(), dense.nbytes(), static_cast<hash::Lanes*>(lanes.mutable_data_ptr()), stream);
    if (!error.empty()) fail(index_, "cannot compute a digest", error);
    const at::Tensor on_host = lanes.to(c10::kCPU);
    return digest_of(*static_cast<const hash::Lanes*>(on_host.const_data_ptr()), dense);
  }

 private:
  static bool is_cuda() { return kKind == "cuda"; }

  std::string this_has() const { return ", this one has " + info_.architecture; }

  std::string tf32_unsupported() const {
    if (is_cuda()) return info_.capability_major < 8 ? "TF32 needs compute capability 8.0" + this_has() : "";
    // LibTorch ignores the setting otherwise; the architecture is the only one with such instructions.
    const char* const allowed = std::getenv("HIPBLASLT_ALLOW_TF32");
    if (allowed == nullptr || std::string(allowed) != "1")
      return "LibTorch needs HIPBLASLT_ALLOW_TF32=1 for TF32";
    return info_.architecture.starts_with("gfx942") ? "" : "TF32 needs gfx942" + this_has();
  }

  c10::DeviceIndex index_;
  kernels::DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Backend> open_gpu(std::int64_t index) {
  return std::make_unique<GpuBackend>(static_cast<c10::DeviceIndex>(index));
}

}  // namespace ampgate::backends::gpu
