#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "backends/cpu.h"
#include "backends/first_word.h"

namespace ampgate::backends {
namespace {

namespace fs = std::filesystem;

// "32768K", "32M"; 0 for anything else.
std::int64_t size_in_bytes(const std::string& text) {
  std::size_t digits = 0;
  std::int64_t size = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9')
    size = 10 * size + (text[digits++] - '0');
  if (digits == 0) return 0;
  const char unit = digits < text.size() ? text[digits] : 'B';
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : unit == 'G' ? size << 30 : size;
}

}  // namespace

std::int64_t cpu_last_level_cache_bytes() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 0;
  int last_level = 0;
  // By the CPUs that share a cache: each cache once, however many CPUs name it.
  std::map<std::string, std::int64_t> of_level;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &cpus)) continue;
    const fs::path folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache";
    for (int index = 0; fs::exists(folder / ("index" + std::to_string(index))); ++index) {
      const fs::path cache = folder / ("index" + std::to_string(index));
      const std::string level_text = first_word(cache / "level");
      const int level = level_text.empty() ? 0 : level_text[0] - '0';
      if (level < last_level || first_word(cache / "type") == "Instruction") continue;
      if (level > last_level) of_level.clear();
      last_level = level;
      of_level[first_word(cache / "shared_cpu_list")] = size_in_bytes(first_word(cache / "size"));
    }
  }
  std::int64_t total = 0;
  for (const auto& [shared, bytes] : of_level) total += bytes;
  // A guest may be told one part of a cache (32 MiB) while data stay in all of it: on one such machine
  // reading became slow only beyond 128 MiB, and the C library, which asks the processor itself, said 384
  // MiB.
  return std::max<std::int64_t>({total, sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL4_CACHE_SIZE)});
}

}  // namespace ampgate::backends
