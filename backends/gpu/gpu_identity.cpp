#include <ATen/detail/CUDAHooksInterface.h>

#include <cctype>
#include <fstream>

#include "backends/gpu/gpu_backend.h"
#include "backends/kernels/device_info.h"

namespace ampgate::backends::gpu {
namespace {

// The version of the kernel driver, which decides more than the number that the runtime gives.
std::string kernel_driver() {
  for (const char* path : {"/proc/driver/nvidia/version", "/sys/module/amdgpu/version"}) {
    std::ifstream file(path);
    if (std::string line; std::getline(file, line)) return line;
  }
  return "not reported";
}

// The node whose memory and processors are nearest to the card; -1 is the kernel's word for a machine
// without.
std::string numa_node(std::string pci_address) {
  for (char& letter : pci_address)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  std::ifstream file("/sys/bus/pci/devices/" + pci_address + "/numa_node");
  std::string node;
  return file >> node ? node : "not reported";
}

}  // namespace

Identity gpu_identity(c10::DeviceIndex index) {
  kernels::DeviceInfo info;
  if (const std::string error = kernels::read_device_info(index, info); !error.empty()) {
    throw DeviceError("device " + std::to_string(index) + ": cannot be asked who it is (" + error +
                      "); check the driver");
  }
  Identity identity{.uuid = info.uuid, .model = info.name, .fields = {}, .memory_bytes = info.memory_bytes};
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  identity.fields = {
      {"architecture", info.architecture},
      {"compute_units", std::to_string(info.compute_units)},
      {"pci_address", info.pci_address},
      {"numa_node", numa_node(info.pci_address)},
      {"kernel_driver", kernel_driver()},
      {"driver_version", std::to_string(info.driver_version)},
      {"runtime_version", std::to_string(info.runtime_version)},
      {"libtorch_device", "cuda:" + std::to_string(index)},
      {"dnn_library", hooks.compiledWithCuDNN()    ? "cuDNN " + std::to_string(hooks.versionCuDNN())
                      : hooks.compiledWithMIOpen() ? "MIOpen " + std::to_string(hooks.versionMIOpen())
                                                   : "none"},
  };
  for (auto& fact : gpu_facts(info)) identity.fields.push_back(std::move(fact));
  return identity;
}

}  // namespace ampgate::backends::gpu
