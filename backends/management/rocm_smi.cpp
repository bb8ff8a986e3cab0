#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "backends/management/card.h"
#include "backends/management/library.h"

namespace ampgate::backends::management {
namespace {

namespace fs = std::filesystem;

// rsmi_status_t, rsmi_temperature_type_t, rsmi_temperature_metric_t, rsmi_gpu_block_t
constexpr int kSuccess = 0;
constexpr std::uint32_t kJunction = 1;
constexpr int kCurrent = 0;
constexpr std::uint64_t kMemoryBlock = 1;  // RSMI_GPU_BLOCK_UMC

struct ErrorCounts {  // rsmi_error_count_t
  std::uint64_t correctable;
  std::uint64_t uncorrectable;
};

// "0000:c3:00.0" as ROCm SMI counts: domain, bus, device and function in one number.
std::uint64_t bdf(const std::string& address) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (std::sscanf(address.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
    throw DeviceError("'" + address + "' is no PCI address");
  return (static_cast<std::uint64_t>(domain) << 32) | (bus << 8) | (device << 3) | function;
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? line : not_told("there is no " + path.filename().string());
}

// The files of the kernel's amdgpu driver (Linux kernel documentation, "GPU sysfs power/thermal controls").
std::optional<double> sensor(const fs::path& folder, const char* file, double unit) {
  std::ifstream stream(folder / file);
  double value = 0;
  if (!(stream >> value)) return std::nullopt;
  return value * unit;
}

class AmdCard final : public Card, private Questions<std::uint32_t> {
 public:
  AmdCard(std::string address, const std::string& library, const std::string& devices)
      : Questions("ROCm SMI", library) {
    std::transform(address.begin(), address.end(), address.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    files_ = fs::path(devices) / address;
    const auto init = library_.find<int(std::uint64_t)>("rsmi_init");
    const int code = init == nullptr ? -1 : init(0);
    if (code != kSuccess) {
      throw DeviceError(
          "ROCm SMI does not start: " + (init == nullptr ? std::string("it has no rsmi_init") : error(code)) +
          "; is /dev/kfd readable for this user?");
    }
    card_ = find(bdf(address), address);
  }

  Fields facts() const override {
    return {{"serial_number", text("rsmi_dev_serial_number_get")},
            {"board", text("rsmi_dev_brand_get")},
            {"vbios", text("rsmi_dev_vbios_version_get")},
            {"power_limit", power_limit()},
            {"uncorrected_ecc_errors", ecc_errors()},
            {"retired_pages", retired_pages()},
            {"partition", first_line(files_ / "current_compute_partition")},
            {"pcie_generation", first_line(files_ / "current_link_speed")},
            {"pcie_width", first_line(files_ / "current_link_width")},
            {"highest_pcie_width", first_line(files_ / "max_link_width")}};
  }

  Telemetry telemetry() const override {
    Telemetry now;
    std::error_code error;
    for (const auto& monitor : fs::directory_iterator(files_ / "hwmon", error)) {
      now.clock_mhz = sensor(monitor, "freq1_input", 1e-6);
      now.temperature_c = sensor(monitor, "temp1_input", 1e-3);
      now.power_w = sensor(monitor, "power1_average", 1e-6);
      if (!now.power_w) now.power_w = sensor(monitor, "power1_input", 1e-6);
      now.energy_j = sensor(monitor, "energy1_input", 1e-6);
    }
    std::int64_t temperature = 0;
    if (ask("rsmi_dev_temp_metric_get", kJunction, kCurrent, &temperature))
      now.temperature_c = static_cast<double>(temperature) * 1e-3;
    std::uint64_t power = 0;
    if (ask("rsmi_dev_power_ave_get", std::uint32_t{0}, &power))
      now.power_w = static_cast<double>(power) * 1e-6;
    return now;
  }

 private:
  std::string error(int code) const override {
    const char* words = nullptr;
    const auto function = library_.find<int(int, const char**)>("rsmi_status_string");
    if (function == nullptr || function(code, &words) != kSuccess || words == nullptr)
      return "error " + std::to_string(code);
    return words;
  }

  std::uint32_t find(std::uint64_t wanted, const std::string& address) const {
    std::uint32_t count = 0;
    const auto counted = library_.find<int(std::uint32_t*)>("rsmi_num_monitor_devices");
    const auto of_index = library_.find<int(std::uint32_t, std::uint64_t*)>("rsmi_dev_pci_id_get");
    if (counted != nullptr && of_index != nullptr && counted(&count) == kSuccess) {
      // Bits 28 to 31 number the partitions of a card that is cut into several.
      constexpr std::uint64_t kPartition = 0xf0000000U;
      for (std::uint32_t index = 0; index < count; ++index) {
        std::uint64_t id = 0;
        if (of_index(index, &id) == kSuccess && (id & ~kPartition) == wanted) return index;
      }
    }
    throw DeviceError("ROCm SMI does not know the card at " + address);
  }

  std::string power_limit() const {
    std::uint64_t microwatts = 0;
    const auto why = failure("rsmi_dev_power_cap_get", std::uint32_t{0}, &microwatts);
    if (!why.empty()) return not_told(why);
    std::array<char, 32> words{};
    std::snprintf(words.data(), words.size(), "%.1f W", static_cast<double>(microwatts) * 1e-6);
    return words.data();
  }

  std::string ecc_errors() const {
    ErrorCounts counts{};
    const auto why = failure("rsmi_dev_ecc_count_get", kMemoryBlock, &counts);
    return why.empty() ? std::to_string(counts.uncorrectable) : not_told(why);
  }

  std::string retired_pages() const {
    std::uint32_t count = 0;
    void* const no_list = nullptr;  // then only the number is asked for
    const auto why = failure("rsmi_dev_memory_reserved_pages_get", &count, no_list);
    return why.empty() ? std::to_string(count) : not_told(why);
  }

  fs::path files_;
};

}  // namespace

std::unique_ptr<Card> amd_card(const std::string& pci_address, const std::string& library,
                               const std::string& devices) {
  return std::make_unique<AmdCard>(pci_address, library, devices);
}

}  // namespace ampgate::backends::management
