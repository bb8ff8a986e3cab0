#include "driver/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "driver/device.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The number behind `key` in lines like "MemAvailable:   123 kB"; negative when there is none.
double value_of(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  double value = 0;
  for (std::string word; file >> word;) {
    if (word == key && file >> value) return value;
  }
  return -1;
}

// Negative for "max" and for a file that is not there.
double number_in(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : -1;
}

// Cached files count as used, and are given up when memory is asked for.
double left_in(const fs::path& group, const char* limit_file, const char* usage_file) {
  const double limit = number_in(group / limit_file);
  if (limit < 0) return kUnlimited;
  const double used = std::max(0.0, number_in(group / usage_file));
  const double cached = std::max(0.0, value_of(group / "memory.stat", "inactive_file"));
  return limit - std::max(0.0, used - cached);
}

double left_in_groups() {
  double left = kUnlimited;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/user.slice", "4:memory:/docker/1a2b"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && controllers != "memory") continue;
    const fs::path mount = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    // A limit of any group above holds too; inside a container the path may be the host's and lead nowhere.
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      left = std::min(left, v2 ? left_in(mount / group, "memory.max", "memory.current")
                               : left_in(mount / group, "memory.limit_in_bytes", "memory.usage_in_bytes"));
      if (group.empty()) break;
    }
  }
  return left;
}

}  // namespace

double available_memory_bytes() {
  const double kilobytes = value_of("/proc/meminfo", "MemAvailable:");
  rlimit own{};
  const bool limited = getrlimit(RLIMIT_DATA, &own) == 0 && own.rlim_cur != RLIM_INFINITY;
  return std::min({kilobytes < 0 ? kUnlimited : kilobytes * 1024, left_in_groups(),
                   limited ? static_cast<double>(own.rlim_cur) : kUnlimited});
}

Memory memory_for(const std::string& device, const WorkerFolder& folder) {
  Memory memory{available_memory_bytes(), 0.0};
  if (device != "cpu")
    memory.device_bytes = usable_device(ask_devices(folder), device).value("memory_bytes", 0.0);
  return memory;
}

}  // namespace ampgate::driver
