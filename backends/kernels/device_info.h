// What the GPU runtime knows of a device, as plain values.
#pragma once

#include <cstdint>
#include <string>

namespace ampgate::backends::kernels {

struct DeviceInfo {
  std::string name;
  std::string uuid;          // as the vendor's tools print it
  std::string architecture;  // "8.0", "gfx90a"
  int capability_major = 0;  // CUDA's compute capability
  int compute_units = 0;
  double clock_hz = 0;         // highest of the compute units; 0: not told
  double memory_clock_hz = 0;  // 0: not told
  int memory_bus_bits = 0;
  std::int64_t cache_bytes = 0;  // L2
  std::int64_t memory_bytes = 0;
  std::string pci_address;
  int driver_version = 0;   // newest runtime that the driver serves, e.g. 13000
  int runtime_version = 0;  // of the runtime library in use
};

// Returns "" or the runtime's error.
const char* read_device_info(int index, DeviceInfo& info);

}  // namespace ampgate::backends::kernels
