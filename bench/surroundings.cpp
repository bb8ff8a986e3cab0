#include "bench/surroundings.h"

#include <ATen/Context.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "backends/settings.h"
#include "bench/ambient.h"
#include "bench/observation.h"

namespace ampgate::bench {
namespace {

const std::string* value_of(const backends::Fields& fields, const std::string& name) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == name; });
  return found == fields.end() ? nullptr : &found->second;
}

namespace fs = std::filesystem;

// Libraries open a file or two for good when they are first used.
constexpr int kFewDescriptors = 4;

int descriptors() {
  std::error_code error;
  return static_cast<int>(std::distance(fs::directory_iterator("/proc/self/fd", error), {}));
}

int children() {
  int count = 0;
  std::error_code error;
  for (const auto& thread : fs::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(thread.path() / "children");
    for (int child = 0; file >> child;) ++count;
  }
  return count;
}

}  // namespace

Surroundings read_surroundings(const Body& body) {
  return {.settings = backends::read_settings(),
          .ambient = ambient_problems(body.device()),
          .generator = at::globalContext().defaultGenerator(body.device()).get_state(),
          .allocator = c10::GetAllocator(body.device()),
          .descriptors = descriptors(),
          .children = children(),
          .niceness = getpriority(PRIO_PROCESS, 0),
          .scheduling = sched_getscheduler(0)};
}

std::string changed_setting(const backends::Fields& before, const backends::Fields& after) {
  for (const auto& [name, value] : after) {
    const std::string* old = value_of(before, name);
    if (old == nullptr || *old != value)
      return "/settings/" + name + " went from " + (old == nullptr ? "not set" : *old) + " to " + value;
  }
  for (const auto& [name, value] : before) {
    if (value_of(after, name) == nullptr) return "/settings/" + name + " went from " + value + " to not set";
  }
  return "";
}

std::string other_than_validated(const results::Json& evidence, Mode mode) {
  const auto validated = evidence.find("settings");
  if (validated == evidence.end()) return "/settings: the evidence does not say";
  const results::Json settings = observed_settings(mode);
  for (const auto& [name, value] : settings.items()) {
    const std::string was = validated->value(name, "not set");
    const auto now = value.get<std::string>();
    if (was != now) return "/settings/" + name + " is " + now + ", validated was " + was;
  }
  return "";
}

std::string unlike_validation(const Body& body, const results::Json& evidence, Mode mode) {
  const auto problems = ambient_problems(body.device());
  return problems.empty() ? other_than_validated(evidence, mode) : problems.front();
}

std::vector<std::string> changes(const Surroundings& before, const Surroundings& after) {
  std::vector<std::string> text;
  if (auto setting = changed_setting(before.settings, after.settings); !setting.empty())
    text.push_back(std::move(setting));
  for (const auto& problem : after.ambient) {
    if (std::find(before.ambient.begin(), before.ambient.end(), problem) == before.ambient.end())
      text.push_back("afterwards " + problem);
  }
  if (before.allocator != after.allocator) text.emplace_back("it put another allocator in place");
  if (const int more = after.descriptors - before.descriptors; more > kFewDescriptors)
    text.push_back("it left " + std::to_string(more) + " file descriptors open");
  if (const int more = after.children - before.children; more > 0)
    text.push_back("it left " + std::to_string(more) + (more == 1 ? " process" : " processes") + " behind");
  if (before.niceness != after.niceness) {
    text.push_back("its niceness went from " + std::to_string(before.niceness) + " to " +
                   std::to_string(after.niceness));
  }
  if (before.scheduling != after.scheduling) text.emplace_back("it has another scheduling policy");
  return text;
}

}  // namespace ampgate::bench
