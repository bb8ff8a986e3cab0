#include "backends/host_state.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace ampgate::backends {
namespace {

// "cpu3 user nice system idle iowait irq softirq steal ..." in ticks (proc_stat(5)).
std::int64_t steal_ns() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return 0;
  std::ifstream file("/proc/stat");
  std::int64_t ticks = 0;
  for (std::string line; std::getline(file, line) && line.rfind("cpu", 0) == 0;) {
    if (line[3] == ' ') continue;  // the sum of all CPUs
    std::istringstream words(line.substr(3));
    int cpu = 0;
    std::int64_t values[8] = {};
    words >> cpu;
    for (auto& value : values) words >> value;
    if (cpu < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(cpu), &cpus)) ticks += values[7];
  }
  return ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

// "run_time run_delay timeslices", times in nanoseconds (Linux, Documentation/scheduler/sched-stats).
void add_schedstat(HostState& now) {
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(thread.path() / "schedstat");
    std::int64_t running = 0;
    std::int64_t waiting = 0;
    std::int64_t turns = 0;
    if (!(file >> running >> waiting >> turns)) continue;
    now.run_delay_ns += waiting;
    now.turns += turns;
  }
}

std::int64_t preemptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

std::int64_t memory_available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("MemAvailable:", 0) == 0) return std::strtoll(line.c_str() + 13, nullptr, 10) << 10;
  }
  return 0;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234" (Linux, Documentation/accounting/psi).
std::optional<std::int64_t> memory_stall_us() {
  std::ifstream file("/proc/pressure/memory");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t total = line.find("total=");
  if (total == std::string::npos) return std::nullopt;
  return std::strtoll(line.c_str() + total + 6, nullptr, 10);
}

}  // namespace

HostState host_state() {
  HostState now;
  now.steal_ns = steal_ns();
  add_schedstat(now);
  now.preemptions = preemptions();
  double load[1];
  if (getloadavg(load, 1) == 1) now.load = load[0];
  now.memory_available_bytes = memory_available_bytes();
  now.memory_stall_us = memory_stall_us();
  return now;
}

}  // namespace ampgate::backends
