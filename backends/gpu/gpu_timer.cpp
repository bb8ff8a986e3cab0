#include <ATen/DeviceAccelerator.h>
#include <c10/core/Event.h>

#include <chrono>
#include <cmath>

#include "backends/gpu/gpu_backend.h"

namespace ampgate::backends::gpu {
namespace {

class GpuTimer final : public Timer {
 public:
  explicit GpuTimer(c10::DeviceIndex index) : index_(index) {}
  void start() override {
    start_.record(at::accelerator::getCurrentStream(index_));
    host_start_ = Clock::now();
  }
  void stop() override {
    host_stop_ = Clock::now();
    stop_.record(at::accelerator::getCurrentStream(index_));
  }
  std::int64_t elapsed_ns() override {
    stop_.synchronize();
    return std::llround(start_.elapsedTime(stop_) * 1e6);  // given in ms
  }
  std::int64_t host_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(host_stop_ - host_start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  // LibTorch's default events carry no time.
  static constexpr c10::EventFlag kWithTime = c10::EventFlag::BACKEND_DEFAULT;
  c10::DeviceIndex index_;
  c10::Event start_{kDeviceType, kWithTime};
  c10::Event stop_{kDeviceType, kWithTime};
  Clock::time_point host_start_;
  Clock::time_point host_stop_;
};

}  // namespace

std::unique_ptr<Timer> gpu_timer(c10::DeviceIndex index) { return std::make_unique<GpuTimer>(index); }

}  // namespace ampgate::backends::gpu
