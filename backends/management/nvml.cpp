#include <array>
#include <cstdio>
#include <string_view>

#include "backends/management/card.h"
#include "backends/management/library.h"

namespace ampgate::backends::management {
namespace {

using Device = void*;

// nvmlReturn_t
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;

// nvmlClockType_t, nvmlTemperatureSensors_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
// nvmlPageRetirementCause_t
constexpr int kStreamingMultiprocessors = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuSensor = 0;
constexpr int kUncorrected = 1;
constexpr int kSinceBoot = 0;
constexpr int kSingleBit = 0;
constexpr int kDoubleBit = 1;

std::string throttle_words(unsigned long long reasons) {
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

std::string watts(unsigned milliwatts) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f W", milliwatts * 1e-3);
  return text.data();
}

class NvidiaCard final : public Card, private Questions<Device> {
 public:
  NvidiaCard(const std::string& uuid, const std::string& library) : Questions("NVML", library) {
    start();
    const auto by_uuid = library_.find<int(const char*, Device*)>("nvmlDeviceGetHandleByUUID");
    const int code = by_uuid == nullptr ? -1 : by_uuid(uuid.c_str(), &card_);
    if (code != kSuccess) {
      throw DeviceError("NVML does not know the card " + uuid + ": " +
                        (by_uuid == nullptr ? "it has no nvmlDeviceGetHandleByUUID" : error(code)));
    }
  }

  Fields facts() const override {
    return {{"serial_number", text("nvmlDeviceGetSerial")},
            {"board_part_number", text("nvmlDeviceGetBoardPartNumber")},
            {"vbios", text("nvmlDeviceGetVbiosVersion")},
            {"driver", driver()},
            {"highest_sm_clock", of_clock("nvmlDeviceGetMaxClockInfo", kStreamingMultiprocessors)},
            {"highest_memory_clock", of_clock("nvmlDeviceGetMaxClockInfo", kMemoryClock)},
            {"memory_clock", of_clock("nvmlDeviceGetClockInfo", kMemoryClock)},
            {"power_limit", number("nvmlDeviceGetEnforcedPowerLimit", watts)},
            {"ecc", on_off("nvmlDeviceGetEccMode")},
            {"mig", on_off("nvmlDeviceGetMigMode")},
            {"uncorrected_ecc_errors", ecc_errors()},
            {"retired_pages", retired_pages()},
            {"remapped_rows", remapped_rows()},
            {"pcie_generation", number("nvmlDeviceGetCurrPcieLinkGeneration", plain)},
            {"pcie_width", number("nvmlDeviceGetCurrPcieLinkWidth", plain)},
            {"highest_pcie_width", number("nvmlDeviceGetMaxPcieLinkWidth", plain)},
            {"processes", processes()}};
  }

  Telemetry telemetry() const override {
    Telemetry now;
    unsigned value = 0;
    unsigned long long wide = 0;
    if (ask("nvmlDeviceGetClockInfo", kStreamingMultiprocessors, &value)) now.clock_mhz = value;
    if (ask("nvmlDeviceGetTemperature", kGpuSensor, &value)) now.temperature_c = value;
    if (ask("nvmlDeviceGetPowerUsage", &value)) now.power_w = value * 1e-3;
    if (ask("nvmlDeviceGetTotalEnergyConsumption", &wide)) now.energy_j = static_cast<double>(wide) * 1e-3;
    // Renamed in NVML 12.2; the old name stays.
    if (ask("nvmlDeviceGetCurrentClocksEventReasons", &wide) ||
        ask("nvmlDeviceGetCurrentClocksThrottleReasons", &wide))
      now.throttled = throttle_words(wide);
    return now;
  }

 private:
  static std::string plain(unsigned value) { return std::to_string(value); }

  void start() const {
    const auto init = library_.find<int()>("nvmlInit_v2");
    if (init == nullptr) throw DeviceError("NVML is too old: it has no nvmlInit_v2");
    if (const int code = init(); code != kSuccess)
      throw DeviceError("NVML does not start: " + error(code) + "; check the driver");
  }

  std::string error(int code) const override {
    const auto words = library_.find<const char*(int)>("nvmlErrorString");
    return words == nullptr ? "error " + std::to_string(code) : words(code);
  }

  std::string driver() const {
    std::array<char, 96> buffer{};
    const auto function = library_.find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
    if (function == nullptr) return not_told(lacks("NVML", "nvmlSystemGetDriverVersion"));
    const int code = function(buffer.data(), static_cast<unsigned>(buffer.size()));
    return code == kSuccess ? buffer.data() : not_told(error(code));
  }

  std::string number(const char* name, std::string (*words)(unsigned)) const {
    unsigned value = 0;
    const auto why = failure(name, &value);
    return why.empty() ? words(value) : not_told(why);
  }

  std::string of_clock(const char* name, int clock) const {
    unsigned value = 0;
    const auto why = failure(name, clock, &value);
    return why.empty() ? std::to_string(value) + " MHz" : not_told(why);
  }

  std::string on_off(const char* name) const {
    unsigned now = 0;
    unsigned pending = 0;
    const auto why = failure(name, &now, &pending);
    if (!why.empty()) return not_told(why);
    return std::string(now != 0 ? "on" : "off") + (now == pending ? "" : ", other after a restart");
  }

  std::string ecc_errors() const {
    unsigned long long count = 0;
    const auto why = failure("nvmlDeviceGetTotalEccErrors", kUncorrected, kSinceBoot, &count);
    return why.empty() ? std::to_string(count) : not_told(why);
  }

  // With no room for addresses it says how many there are.
  std::string counted(const char* name, int code, unsigned count) const {
    if (code == kSuccess || code == kInsufficientSize) return std::to_string(count);
    return not_told(code < 0 ? lacks("NVML", name) : error(code));
  }

  std::string retired_pages() const {
    constexpr auto kName = "nvmlDeviceGetRetiredPages";
    const auto function = library_.find<int(Device, int, unsigned*, unsigned long long*)>(kName);
    unsigned all = 0;
    for (const int cause : {kSingleBit, kDoubleBit}) {
      unsigned count = 0;
      const int code = function == nullptr ? -1 : function(card_, cause, &count, nullptr);
      if (code != kSuccess && code != kInsufficientSize) return counted(kName, code, 0);
      all += count;
    }
    return std::to_string(all);
  }

  std::string remapped_rows() const {
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    const auto why = failure("nvmlDeviceGetRemappedRows", &corrected, &uncorrected, &pending, &failed);
    if (!why.empty()) return not_told(why);
    return std::to_string(corrected + uncorrected) + (pending != 0 ? ", more after a restart" : "") +
           (failed != 0 ? ", and one could not be" : "");
  }

  std::string processes() const {
    constexpr auto kName = "nvmlDeviceGetComputeRunningProcesses_v3";
    const auto function = library_.find<int(Device, unsigned*, void*)>(kName);
    unsigned count = 0;
    const int code = function == nullptr ? -1 : function(card_, &count, nullptr);
    return counted(kName, code, count);
  }
};

}  // namespace

std::unique_ptr<Card> nvidia_card(const std::string& uuid, const std::string& library) {
  return std::make_unique<NvidiaCard>(uuid, library);
}

}  // namespace ampgate::backends::management
