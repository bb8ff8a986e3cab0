#include "driver/machine.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <random>

#include "driver/cpus.h"

namespace ampgate::driver {
namespace {

using results::Json;

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of the first line of `path` that begins with `key`.
std::string value_of(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    auto value = line.substr(std::min(line.find(separator) + 1, line.size()));
    value.erase(0, value.find_first_not_of(" \t\""));
    value.erase(value.find_last_not_of(" \t\"") + 1);
    return value;
  }
  return {};
}

void put(Json& json, const char* key, const std::string& value, const char* reason) {
  if (value.empty()) {
    json["absent"][key] = reason;
  } else {
    json[key] = value;
  }
}

}  // namespace

Json describe_machine() {
  Json machine;
  utsname system{};
  uname(&system);
  machine["host"] = system.nodename;
  machine["kernel"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  put(machine, "os", value_of("/etc/os-release", "PRETTY_NAME", '='), "no /etc/os-release");
  put(machine, "cpu_model", value_of("/proc/cpuinfo", "model name", ':'), "not in /proc/cpuinfo");
  machine["cpus"] = allowed_cpus();
  machine["processors"] = processor_layout();
  put(machine, "governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
      "this kernel shows no frequency governor");
  put(machine, "transparent_huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
      "not in /sys/kernel/mm");
  double load[3];
  if (getloadavg(load, 3) == 3) {
    machine["load_at_start"] = {load[0], load[1], load[2]};
  } else {
    machine["absent"]["load_at_start"] = "not given by the system";
  }
  return machine;
}

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string compact_utc_now() { return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string random_id() { return fmt::format("{:08x}", std::random_device{}()); }

}  // namespace ampgate::driver
