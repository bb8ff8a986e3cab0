#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "backends/gpu/gpu_backend.h"

namespace ampgate::backends::gpu {
namespace {

// Of NVML's interface, which is stable, only what is asked here ("NVML API Reference Guide"): the library
// belongs to the driver, so it can be neither linked nor shipped.
class Nvml {
 public:
  using Device = void*;

  static const Nvml* get() {
    static const Nvml nvml;
    return nvml.init_ != nullptr && nvml.started_ ? &nvml : nullptr;
  }

  Telemetry telemetry(const std::string& uuid) const {
    Device device = nullptr;
    Telemetry now;
    if (by_uuid_ == nullptr || by_uuid_(uuid.c_str(), &device) != 0) return now;
    constexpr int kStreamingMultiprocessors = 1;
    constexpr int kGpuSensor = 0;
    unsigned value = 0;
    unsigned long long wide = 0;
    if (clock_ != nullptr && clock_(device, kStreamingMultiprocessors, &value) == 0) now.clock_mhz = value;
    if (temperature_ != nullptr && temperature_(device, kGpuSensor, &value) == 0) now.temperature_c = value;
    if (power_ != nullptr && power_(device, &value) == 0) now.power_w = value * 1e-3;
    if (energy_ != nullptr && energy_(device, &wide) == 0) now.energy_j = static_cast<double>(wide) * 1e-3;
    if (reasons_ != nullptr && reasons_(device, &wide) == 0) now.throttled = in_words(wide);
    return now;
  }

 private:
  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    load(library, "nvmlInit_v2", init_);
    load(library, "nvmlDeviceGetHandleByUUID", by_uuid_);
    load(library, "nvmlDeviceGetClockInfo", clock_);
    load(library, "nvmlDeviceGetTemperature", temperature_);
    load(library, "nvmlDeviceGetPowerUsage", power_);
    load(library, "nvmlDeviceGetTotalEnergyConsumption", energy_);
    load(library, "nvmlDeviceGetCurrentClocksThrottleReasons", reasons_);
    started_ = init_ != nullptr && init_() == 0;
  }

  template <typename Function>
  static void load(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  }

  static std::string in_words(unsigned long long reasons) {
    struct Reason {
      unsigned long long bit;
      std::string_view words;
    };
    constexpr std::array<Reason, 6> kReasons{{{0x4, "power limit"},
                                              {0x8, "hardware slow-down"},
                                              {0x10, "synchronised with a slower card"},
                                              {0x20, "heat (software)"},
                                              {0x40, "heat (hardware)"},
                                              {0x80, "power brake"}}};
    std::string text;
    for (const auto& reason : kReasons) {
      if ((reasons & reason.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(reason.words);
    }
    return text;
  }

  int (*init_)() = nullptr;
  int (*by_uuid_)(const char*, Device*) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*temperature_)(Device, int, unsigned*) = nullptr;
  int (*power_)(Device, unsigned*) = nullptr;
  int (*energy_)(Device, unsigned long long*) = nullptr;
  int (*reasons_)(Device, unsigned long long*) = nullptr;
  bool started_ = false;
};

// The files of the kernel's amdgpu driver (Linux kernel documentation, "GPU sysfs power/thermal controls").
std::optional<double> sensor(const std::filesystem::path& folder, const char* file, double unit) {
  std::ifstream stream(folder / file);
  double value = 0;
  if (!(stream >> value)) return std::nullopt;
  return value * unit;
}

Telemetry amdgpu_telemetry(std::string pci_address) {
  std::transform(pci_address.begin(), pci_address.end(), pci_address.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  Telemetry now;
  std::error_code error;
  const std::filesystem::path monitors = "/sys/bus/pci/devices/" + pci_address + "/hwmon";
  for (const auto& monitor : std::filesystem::directory_iterator(monitors, error)) {
    now.clock_mhz = sensor(monitor, "freq1_input", 1e-6);
    now.temperature_c = sensor(monitor, "temp1_input", 1e-3);
    now.power_w = sensor(monitor, "power1_average", 1e-6);
    if (!now.power_w) now.power_w = sensor(monitor, "power1_input", 1e-6);
    now.energy_j = sensor(monitor, "energy1_input", 1e-6);
  }
  return now;
}

}  // namespace

Telemetry gpu_telemetry(const kernels::DeviceInfo& info) {
  if (std::string_view(AMPGATE_GPU_KIND) != "cuda") return amdgpu_telemetry(info.pci_address);
  const Nvml* const nvml = Nvml::get();
  return nvml == nullptr ? Telemetry{} : nvml->telemetry(info.uuid);
}

}  // namespace ampgate::backends::gpu
