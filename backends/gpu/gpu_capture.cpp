#include <ATen/DeviceAccelerator.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/kernels/capture.h"

namespace ampgate::backends::gpu {
namespace {

// Empty, or what `body` threw, without LibTorch's backtrace.
std::string thrown_by(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::string gpu_capture_problem(c10::DeviceIndex index, const std::function<void()>& body) {
  const c10::impl::VirtualGuardImpl device(kDeviceType);
  // The default stream cannot be recorded.
  const c10::StreamGuard guard(device.getStreamFromGlobalPool({kDeviceType, index}));
  void* const stream = at::accelerator::getCurrentStream(index).native_handle();
  // What the allocator and the libraries keep for a stream must be there: a recorded one may not ask for it.
  body();
  at::accelerator::synchronizeDevice(index);

  if (std::string error = kernels::begin_capture(stream); !error.empty()) return error;
  std::string problem = thrown_by(body);
  const std::string error = kernels::end_capture(stream);
  at::accelerator::synchronizeDevice(index);
  return problem.empty() ? error : problem;
}

}  // namespace ampgate::backends::gpu
