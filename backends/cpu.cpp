#include "backends/cpu.h"

#include <chrono>

#include "backends/counting_allocator.h"
#include "backends/digest.h"

namespace ampgate::backends {
namespace {

class CpuTimer final : public Timer {
 public:
  void start() override { start_ = Clock::now(); }
  void stop() override { stop_ = Clock::now(); }
  std::int64_t elapsed_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(stop_ - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  Clock::time_point stop_;
};

class CpuBackend final : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  c10::Device device() const override { return c10::kCPU; }
  Identity identity() const override { return cpu_identity(); }

  // LibTorch's CPU kernels take both 16-bit types on every CPU: in software where the CPU has no such
  // instructions.
  std::string unsupported(c10::ScalarType type, bool tf32) const override {
    if (tf32) return "LibTorch has no TF32 on the CPU: FP32 products would run in FP32";
    switch (type) {
      case c10::kFloat:
      case c10::kDouble:
      case c10::kHalf:
      case c10::kBFloat16:
        return {};
      default:
        return std::string("operators do not compute in ") + c10::toString(type) + " on the CPU";
    }
  }

  void synchronize() override {}  // operators on the CPU have ended when they return
  std::unique_ptr<Timer> timer() override { return std::make_unique<CpuTimer>(); }
  std::unique_ptr<MemoryMeter> memory_meter() override { return cpu_memory_meter(); }
  std::unique_ptr<MemoryPasses> memory_passes(std::int64_t bytes) override {
    return cpu_memory_passes(bytes);
  }
  std::int64_t last_level_cache_bytes() const override { return cpu_last_level_cache_bytes(); }
  Telemetry telemetry() override { return cpu_telemetry(); }
  Peaks peaks() const override {
    for (const auto& [name, value] : cpu_identity().fields) {
      if (name == "isa") return cpu_peaks(value);
    }
    return {};
  }
  std::string digest(const at::Tensor& tensor) override { return backends::digest(tensor); }
  std::string capture_problem(const std::function<void()>&) override { return {}; }
};

}  // namespace

std::unique_ptr<Backend> open_cpu() { return std::make_unique<CpuBackend>(); }

}  // namespace ampgate::backends
