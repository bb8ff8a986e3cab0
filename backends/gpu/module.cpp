// What the program that loads this module calls.
#include <ATen/DeviceAccelerator.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/modules.h"

namespace ampgate::backends::gpu {
namespace {

// LibTorch names its accelerator even where there is no driver, so its devices are counted.
std::int64_t device_count() {
  return at::accelerator::getAccelerator() == kDeviceType ? at::accelerator::deviceCount() : 0;
}

}  // namespace
}  // namespace ampgate::backends::gpu

extern "C" const ampgate::backends::Module* ampgate_backend_module() {
  static const std::string abi = ampgate::backends::module_abi();
  static const ampgate::backends::Module module{abi.c_str(), &ampgate::backends::gpu::device_count,
                                                &ampgate::backends::gpu::open_gpu};
  return &module;
}
