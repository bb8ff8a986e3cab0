#include <fmt/format.h>

#include "driver/case_files.h"
#include "driver/commands.h"
#include "driver/device.h"
#include "driver/names.h"
#include "driver/plan.h"

namespace ampgate::driver {
namespace {

using results::Json;

void print_text(const Manifest& manifest, const Options& options) {
  // Before anything is printed: it may refuse.
  const auto trials = select_trials(manifest, select_shapes(manifest, options), options, true);
  fmt::print("Suites: {}\nPrecisions: {}\n\n", join(manifest.suites, ", "), join(manifest.precisions, ", "));
  fmt::print("Cases of {}:\n", has_own_shapes(options) ? "the shapes given" : "suite " + options.suite);
  std::string last;
  for (const auto& trial : trials) {
    if (trial.group() == last) continue;
    last = trial.group();
    fmt::print("  {:<32} {} ({})\n", trial.case_name, trial.shape_name, join(trial.dims, " x "));
  }
}

void print_json(const Manifest& manifest, const Options& options) {
  Json document{{"suites", manifest.suites}, {"precisions", manifest.precisions}, {"suite", options.suite}};
  document["cases"] = Json::array();
  std::string last;
  for (const auto& trial : select_trials(manifest, select_shapes(manifest, options), options, true)) {
    if (trial.group() != last) {
      last = trial.group();
      document["cases"].push_back(
          {{"case", trial.case_name}, {"shape", shape_json(trial)}, {"trials", Json::array()}});
    }
    document["cases"].back()["trials"].push_back(trial.id);
  }
  fmt::print("{}\n", results::to_text(document, 2));
}

}  // namespace

results::ExitCode list(const Options& options) {
  const WorkerFolder folder = find_worker_and_cases(options);
  options.json ? print_json(folder.manifest, options) : print_text(folder.manifest, options);
  return results::ExitCode::kOk;
}

results::ExitCode devices(const Options& options) {
  const Json found = ask_devices(find_worker(options.worker, options.torch));
  if (options.json) fmt::print("{}\n", results::to_text(found, 2));
  bool any = false;
  for (const auto& device : found) {
    const bool usable = device.at("usable").get<bool>();
    any = any || usable;
    if (options.json) continue;
    fmt::print("{:<8} {}\n", device.at("name").get<std::string>(),
               usable ? device.value("model", "") : "not usable: " + device.value("problem", ""));
    const Json fields = device.value("fields", Json::object());
    for (const auto& [name, value] : fields.items()) {
      fmt::print("         {}: {}\n", name,
                 value.is_string() ? value.get<std::string>() : results::to_text(value));
    }
  }
  return any ? results::ExitCode::kOk : results::ExitCode::kEnvironment;
}

}  // namespace ampgate::driver
