#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "backends/cpu.h"
#include "backends/first_word.h"

namespace ampgate::backends {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_in(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

// Mean over the CPUs of this process that tell the number.
std::optional<double> mean_over_cpus(const char* file) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return std::nullopt;
  double sum = 0;
  int count = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &cpus)) continue;
    if (const auto value = number_in("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + file)) {
      sum += *value;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

// The highest of the sensors in the processor's packages.
std::optional<double> temperature() {
  std::optional<double> highest;
  std::error_code error;
  for (const auto& zone : fs::directory_iterator("/sys/class/thermal", error)) {
    const std::string type = first_word(zone.path() / "type");
    if (type.find("pkg_temp") == std::string::npos && type.find("cpu") == std::string::npos) continue;
    const auto value = number_in(zone.path() / "temp");
    if (value && (!highest || *value / 1e3 > *highest)) highest = *value / 1e3;
  }
  for (const auto& sensor : fs::directory_iterator("/sys/class/hwmon", error)) {
    const std::string name = first_word(sensor.path() / "name");
    if (name != "k10temp" && name != "coretemp" && name != "zenpower") continue;
    const auto value = number_in(sensor.path() / "temp1_input");
    if (value && (!highest || *value / 1e3 > *highest)) highest = *value / 1e3;
  }
  return highest;
}

// RAPL's counters of whole packages, in joules; they wrap after minutes to hours.
std::optional<double> energy() {
  std::optional<double> sum;
  std::error_code error;
  for (const auto& zone : fs::directory_iterator("/sys/class/powercap", error)) {
    const std::string name = first_word(zone.path() / "name");
    if (name.rfind("package", 0) != 0) continue;
    if (const auto value = number_in(zone.path() / "energy_uj")) sum = sum.value_or(0.0) + *value * 1e-6;
  }
  return sum;
}

}  // namespace

Telemetry cpu_telemetry() {
  Telemetry now;
  if (const auto khz = mean_over_cpus("cpufreq/scaling_cur_freq")) now.clock_mhz = *khz / 1e3;
  now.temperature_c = temperature();
  now.energy_j = energy();
  now.throttle_events = mean_over_cpus("thermal_throttle/core_throttle_count");
  return now;
}

}  // namespace ampgate::backends
