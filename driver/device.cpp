#include "driver/device.h"

#include <algorithm>
#include <charconv>
#include <regex>

#include "driver/names.h"
#include "driver/worker.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

using results::Json;

int numa_node(const Json& device) {
  const auto text = device.value("fields", Json::object()).value("numa_node", "");
  int node = -1;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), node);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? node : -1;
}

DeviceChoice choice(const Json& device) {
  const auto name = device.at("name").get<std::string>();
  // A CPU has no TF32; an accelerator's worker answers `unsupported` where the card lacks it, so ask only
  // where it may.
  const Json unsupported = device.value("unsupported", Json::object());
  return {name, name != "cpu" && !unsupported.contains("tf32"), numa_node(device)};
}

void check_name(const std::string& wanted) {
  if (std::regex_match(wanted, std::regex("cpu|all|(cuda|rocm):[0-9]{1,4}"))) return;
  throw results::UsageError("'" + wanted + "' is no device",
                            "devices are cpu, cuda:0, rocm:0 and so on, or all");
}

}  // namespace

Json ask_devices(const WorkerFolder& folder) {
  WorkerSetup setup;
  setup.folder = &folder;
  setup.environment = child_environment(1);
  Json devices = ask_worker(setup, "devices");
  const auto well_formed = [](const Json& device) {
    return device.is_object() && device.value("name", Json()).is_string() &&
           device.value("usable", Json()).is_boolean();
  };
  if (!devices.is_array() || !std::all_of(devices.begin(), devices.end(), well_formed)) {
    throw results::EnvironmentError(folder.validate().string() + " devices: not a list of devices",
                                    "build the workers again");
  }
  return devices;
}

const Json& usable_device(const Json& devices, const std::string& name) {
  std::vector<std::string> usable;
  for (const auto& device : devices) {
    if (device.at("usable").get<bool>()) usable.push_back(device.at("name").get<std::string>());
  }
  const std::string action = "usable here: " + join(usable, ", ") + ". See: ampgate devices";
  // A backend without any card has one entry that says why: "cuda" for cuda:0.
  const auto family = name.substr(0, name.find(':'));
  std::string problem;
  for (const auto& device : devices) {
    const auto here = device.at("name").get<std::string>();
    if (here == name && device.at("usable").get<bool>()) return device;
    if (here.substr(0, here.find(':')) == family && problem.empty()) problem = device.value("problem", "");
  }
  throw results::EnvironmentError("no device " + name + (problem.empty() ? "" : ": " + problem), action);
}

std::vector<DeviceChoice> choose_devices(const std::string& wanted, const WorkerFolder& folder) {
  if (!wanted.empty()) check_name(wanted);
  if (wanted == "cpu" || (wanted.empty() && !folder.has_accelerator_module())) return {{.name = "cpu"}};
  const Json devices = ask_devices(folder);
  if (!wanted.empty() && wanted != "all") return {choice(usable_device(devices, wanted))};
  std::vector<DeviceChoice> chosen;
  for (const auto& device : devices) {
    if (device.at("usable").get<bool>()) chosen.push_back(choice(device));
  }
  if (chosen.empty()) throw results::EnvironmentError("no device is usable", "see: ampgate devices");
  if (wanted == "all") return chosen;
  const auto accelerator = std::find_if(chosen.begin(), chosen.end(),
                                        [](const DeviceChoice& device) { return device.name != "cpu"; });
  return {accelerator == chosen.end() ? chosen.front() : *accelerator};
}

}  // namespace ampgate::driver
