#include "driver/cpus.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "results/error.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::Json;
using results::UsageError;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int number(const std::string& text) {
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 0 || value >= CPU_SETSIZE)
    throw std::invalid_argument("'" + text + "' is no processor's number");
  return value;
}

// The hardware threads that share this one's core, as the kernel writes them; itself where it does not tell.
std::string siblings(int cpu) {
  const auto name = "cpu" + std::to_string(cpu);
  const std::string line = first_line("/sys/devices/system/cpu/" + name + "/topology/thread_siblings_list");
  return line.empty() ? name : line;
}

// The first hardware thread of each core.
std::vector<int> one_of_each_core(const std::vector<int>& cpus) {
  std::set<std::string> cores;
  std::vector<int> first;
  for (const int cpu : cpus) {
    if (cores.insert(siblings(cpu)).second) first.push_back(cpu);
  }
  return first;
}

// By node: its processors among `cpus`.
std::map<int, std::vector<int>> by_node(const std::vector<int>& cpus) {
  std::map<int, std::vector<int>> nodes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", error)) {
    const auto name = entry.path().filename().string();
    if (name.rfind("node", 0) != 0 || name.find_first_not_of("0123456789", 4) != std::string::npos) continue;
    try {
      for (const int cpu : cpus_from(first_line(entry.path() / "cpulist"))) {
        if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end())
          nodes[number(name.substr(4))].push_back(cpu);
      }
    } catch (const std::invalid_argument&) {
      continue;  // a node of memory alone
    }
  }
  return nodes;
}

// Memory of another node is slower: where threads fit onto one node, they stay there.
std::vector<int> on_one_node(const std::vector<int>& cpus, int threads, int nearest_node) {
  const auto nodes = by_node(cpus);
  const auto nearest = nodes.find(nearest_node);
  if (nearest != nodes.end() && static_cast<int>(nearest->second.size()) >= threads) return nearest->second;
  for (const auto& [node, on_node] : nodes) {
    if (static_cast<int>(on_node.size()) >= threads) return on_node;
  }
  return cpus;
}

std::vector<int> asked_cpus(const std::string& list) {
  std::vector<int> cpus;
  try {
    cpus = cpus_from(list);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--cpus: ") + error.what(), "write numbers and ranges: 0,2-5");
  }
  const auto allowed = allowed_cpus();
  for (const int cpu : cpus) {
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
      throw UsageError("--cpus: processor " + std::to_string(cpu) + " is not there, or not for this process",
                       "see: cat /proc/self/status | grep Cpus_allowed_list");
    }
  }
  return cpus;
}

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> cpus_from(const std::string& list) {
  std::set<int> cpus;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    const std::size_t dash = word.find('-');
    const int first = number(word.substr(0, dash));
    const int last = dash == std::string::npos ? first : number(word.substr(dash + 1));
    if (last < first) throw std::invalid_argument("'" + word + "' runs backwards");
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    begin = end + 1;
  }
  return {cpus.begin(), cpus.end()};
}

Json processor_layout() {
  Json layout = Json::object();
  const auto cpus = allowed_cpus();
  if (const auto cores = one_of_each_core(cpus).size(); cores > 0) {
    layout["threads_per_core"] = static_cast<double>(cpus.size()) / static_cast<double>(cores);
  }
  const auto nodes = by_node(cpus);
  for (const auto& [node, on_node] : nodes) layout["numa_nodes"][std::to_string(node)] = on_node;
  if (nodes.empty()) layout["absent"]["numa_nodes"] = "this kernel shows no NUMA nodes";
  return layout;
}

Json process_settings(const Options& options, int nearest_node) {
  const bool asked = !options.cpus.empty();
  const auto allowed = asked ? asked_cpus(options.cpus) : allowed_cpus();
  const auto cores = one_of_each_core(allowed);
  const auto count = [](const std::vector<int>& cpus) {
    return std::max<int>(1, static_cast<int>(cpus.size()));
  };
  const int threads = options.threads.value_or(asked ? count(allowed) : count(cores));
  if (threads > count(allowed)) {
    throw UsageError("--threads " + std::to_string(threads) + ": this process may use " +
                         std::to_string(count(allowed)) + " CPUs",
                     "ask for at most as many: more would time the scheduler");
  }
  const auto affinity =
      asked ? allowed : on_one_node(threads <= count(cores) ? cores : allowed, threads, nearest_node);
  // Thresholds high enough that large tensors stay on the heap and page faults do not decide the time.
  return {{"threads", threads},
          {"affinity", affinity},
          {"mmap_threshold_bytes", 1073741824},
          {"trim_threshold_bytes", 2147483647},
          {"huge_pages", false}};
}

Options with_recorded_settings(Options options, const Json& settings) {
  if (!options.threads) options.threads = settings.at("threads").get<int>();
  if (!options.cpus.empty()) return options;
  const auto allowed = allowed_cpus();
  std::string list;
  for (const auto& json : settings.at("affinity")) {
    const int cpu = json.get<int>();
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) return options;
    list += (list.empty() ? "" : ",") + std::to_string(cpu);
  }
  options.cpus = list;
  return options;
}

Json with_default_malloc(Json settings) {
  for (const auto* name : {"mmap_threshold_bytes", "trim_threshold_bytes", "huge_pages"})
    settings.erase(name);
  return settings;
}

}  // namespace ampgate::driver
