// `ampgate fingerprint`: how a device does its arithmetic.
#include <fmt/format.h>

#include "driver/columns.h"
#include "driver/commands.h"
#include "driver/cpus.h"
#include "driver/device.h"
#include "driver/device_worker.h"
#include "driver/terminal.h"
#include "results/error.h"
#include "results/record.h"
#include "results/rules.h"

namespace ampgate::driver {
namespace {

using results::Json;

Json make_plan(const Options& options, const WorkerFolder& folder, const DeviceChoice& device) {
  const results::Rules rules;
  return Json{{"ampgate_plan", 1},
              {"phase", "fingerprint"},
              {"run_id", "fingerprint"},
              {"build_id", folder.manifest.build_id},
              {"device", device.name},
              {"seed", 1},
              {"process", 0},
              {"rules", results::to_json(rules)},
              {"rules_sha256", results::rules_digest(rules)},
              {"settings", process_settings(options, device.numa_node)},
              {"trials", Json::array()}};
}

void print(const Json& document) {
  std::vector<std::vector<Cell>> rows;
  for (const auto& probe : document.at("fingerprint").at("probes")) {
    const bool absent = probe.contains("absent");
    rows.push_back({{probe.at("name").get<std::string>()},
                    {absent ? "not asked: " + probe["absent"].at("raw").get<std::string>()
                            : probe.at("words").get<std::string>()},
                    {"(" + probe.at("asks").get<std::string>() + ")"}});
  }
  fmt::print("{}  {}\n{}\nDigest: {}\n", document.at("device").at("name").get<std::string>(),
             document["device"].value("model", ""), in_columns({{"probe"}, {"finding"}, {"of"}}, rows, false),
             document["fingerprint"].at("digest").get<std::string>());
}

Json take(const Options& options, const WorkerFolder& folder, const DeviceChoice& device) {
  const Json plan = make_plan(options, folder, device);
  WorkerSetup setup;
  setup.folder = &folder;
  setup.environment = child_environment(plan.at("settings").at("threads").get<int>());
  Json document{
      {"ampgate_fingerprint", 1}, {"build_id", folder.manifest.build_id}, {"settings", plan.at("settings")}};
  std::string failure;
  const Json done = ask_about_device(
      setup, plan,
      [&](const std::string& name, const Json& event) {
        if (name != "environment") return;
        document["device"] = event.at("device");
        document["libtorch"] = event.at("libtorch");
      },
      failure);
  if (done.is_null())
    throw results::EnvironmentError("the fingerprint of " + device.name + " was not taken: " + failure,
                                    "see: ampgate devices");
  document["fingerprint"] = done.at("fingerprint");
  return document;
}

}  // namespace

results::ExitCode fingerprint(const Options& options) {
  const WorkerFolder folder = find_worker(options.worker, options.torch);
  Json documents = Json::array();
  for (const auto& device : choose_devices(options.device, folder)) {
    documents.push_back(take(options, folder, device));
    if (!options.json) print(documents.back());
  }
  // One device, one object: several, as by --device all, are an array.
  if (options.json)
    fmt::print("{}\n", results::to_text(documents.size() == 1 ? documents.front() : documents, 2));
  return results::ExitCode::kOk;
}

}  // namespace ampgate::driver
