#include <cstdio>

#include "backends/kernels/device_info.h"
#include "backends/kernels/gpu_runtime.h"

namespace ampgate::backends::kernels {
namespace {

#if defined(__HIPCC__)

using Properties = hipDeviceProp_t;

constexpr auto kClock = hipDeviceAttributeClockRate;
constexpr auto kMemoryClock = hipDeviceAttributeMemoryClockRate;
constexpr auto kMemoryBus = hipDeviceAttributeMemoryBusWidth;

std::string architecture_of(const Properties& properties) { return properties.gcnArchName; }

std::string uuid_of(int index) {
  hipUUID uuid{};
  if (hipDeviceGetUuid(&uuid, index) != hipSuccess) return {};
  return "GPU-" + std::string(uuid.bytes, sizeof uuid.bytes);  // HIP's bytes are the digits themselves
}

#else

using Properties = cudaDeviceProp;
constexpr auto kClock = cudaDevAttrClockRate;
constexpr auto kMemoryClock = cudaDevAttrMemoryClockRate;
constexpr auto kMemoryBus = cudaDevAttrGlobalMemoryBusWidth;

std::string architecture_of(const Properties& properties) {
  return std::to_string(properties.major) + "." + std::to_string(properties.minor);
}

std::string uuid_of(int index) {
  Properties properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) return {};
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(properties.uuid.bytes[i]));
    text += digits;
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

#endif

// 0 where the runtime does not know.
template <typename Attribute>
int attribute(Attribute which, int index) {
  int value = 0;
  return AMPGATE_GPU(DeviceGetAttribute)(&value, which, index) == gpu::kSuccess ? value : 0;
}

}  // namespace

const char* read_device_info(int index, DeviceInfo& info) {
  Properties properties{};
  if (const auto error = AMPGATE_GPU(GetDeviceProperties)(&properties, index); error != gpu::kSuccess) {
    return gpu::text_of(error);
  }
  info.name = properties.name;
  info.uuid = uuid_of(index);
  info.architecture = architecture_of(properties);
  info.capability_major = properties.major;
  info.compute_units = properties.multiProcessorCount;
  info.clock_hz = 1e3 * attribute(kClock, index);
  info.memory_clock_hz = 1e3 * attribute(kMemoryClock, index);
  info.memory_bus_bits = attribute(kMemoryBus, index);
  info.cache_bytes = properties.l2CacheSize;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  char address[32] = {};
  if (AMPGATE_GPU(DeviceGetPCIBusId)(address, sizeof address, index) == gpu::kSuccess)
    info.pci_address = address;
  if (const auto error = AMPGATE_GPU(DriverGetVersion)(&info.driver_version); error != gpu::kSuccess) {
    return gpu::text_of(error);
  }
  return gpu::text_of(AMPGATE_GPU(RuntimeGetVersion)(&info.runtime_version));
}

}  // namespace ampgate::backends::kernels
