#include <algorithm>
#include <set>

#include "driver/case_files.h"
#include "driver/commands.h"
#include "driver/cpus.h"
#include "driver/device.h"
#include "driver/kept_checkpoints.h"
#include "driver/names.h"
#include "driver/report.h"
#include "driver/run_plan.h"
#include "results/record.h"

namespace ampgate::driver {
namespace {

using results::Json;
using results::UsageError;

Trial trial_of(const Json& recorded) {
  Trial trial;
  trial.id = recorded.at("id").get<std::string>();
  trial.case_name = recorded.at("case").get<std::string>();
  trial.shape_name = recorded.at("shape").at("name").get<std::string>();
  for (const auto& [dim, size] : recorded.at("shape").at("dims").items()) {
    trial.dims.push_back(dim);
    trial.shape.push_back(size.get<std::int64_t>());
  }
  trial.precision = recorded.at("precision").get<std::string>();
  return trial;
}

bool any_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& names) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
           return std::any_of(names.begin(), names.end(),
                              [&](const auto& name) { return matches(pattern, name); });
         });
}

// The recorded trials that the options select, each case with its baseline.
std::vector<Json> selected(const Json& record, const Options& options) {
  std::set<std::string> groups;
  const auto wanted = [&](const Trial& trial) {
    return any_matches(options.cases, {trial.case_name, trial.group(), trial.id}) &&
           any_matches(options.precisions, {trial.precision});
  };
  for (const auto& recorded : record.at("trials")) {
    const Trial trial = trial_of(recorded);
    if (wanted(trial)) groups.insert(trial.group());
  }
  std::vector<Json> trials;
  for (const auto& recorded : record.at("trials")) {
    const Trial trial = trial_of(recorded);
    if (wanted(trial) || (trial.precision == kBaseline && groups.count(trial.group()) != 0))
      trials.push_back(recorded);
  }
  if (trials.empty()) throw UsageError("no trial of this record is selected", "see its trials[].id");
  return trials;
}

// What this run knows of the device before a worker looks closer.
Json observe(const Json& device) {
  Json observed = Json::object();
  if (device.contains("uuid")) observed["uuid"] = device.at("uuid");
  return observed;
}

}  // namespace

results::ExitCode bench(const Options& options) {
  const Json record = results::read_record(options.evidence);
  const Json& validated = record.at("plan");
  const WorkerFolder folder = find_worker_and_cases(options);
  check_same_files(validated.value("files", Json()), folder, options.evidence);

  RunPlan plan;
  plan.command = "bench";
  plan.suite = validated.at("suite").get<std::string>();
  if (validated.contains("sweep")) plan.sweep = validated.at("sweep");
  plan.seed = options.seed.value_or(validated.at("seed").get<std::uint64_t>());
  plan.rules = results::parse_rules(record.at("rules").dump(), options.evidence + ": /rules");
  load_rules(options, folder.manifest, plan);
  plan.settings = process_settings(with_recorded_settings(options, validated.at("settings")));
  const auto device = choose_devices(
      options.device.empty() ? validated.at("device").get<std::string>() : options.device, folder);
  if (device.size() != 1)
    throw UsageError("bench measures on the one device of its evidence", "leave --device all out");
  plan.device = device.front().name;
  plan.observed_device = observe(usable_device(ask_devices(folder), plan.device));
  plan.phases = measuring_phases(plan.suite);
  plan.schedule = make_schedule(options, plan);
  plan.evidence_source = {
      {"path", options.evidence}, {"digest", record.at("digest")}, {"id", record.at("id")}};

  auto trials = selected(record, options);
  for (const auto& trial : trials) plan.trials.push_back(trial_of(trial));
  check_budget(plan);
  if (options.dry_run) {
    for (const auto& trial : plan.trials) std::puts(trial.id.c_str());
    return results::ExitCode::kOk;
  }
  const auto environment = child_environment(plan.settings.at("threads").get<int>());
  auto journal = open_journal(options, journal_header(plan, options, folder, environment));
  for (auto& trial : trials) {
    trial.erase("measurement");
    trial.erase("variants");
    // The journal fills it in again; the schema refuses an `absent` that names nothing.
    if (trial.contains("absent")) {
      trial["absent"].erase("measurement");
      if (trial["absent"].empty()) trial.erase("absent");
    }
    move_checkpoints(trial, std::filesystem::path(options.evidence).parent_path(),
                     journal.path().parent_path());
    journal.append({{"trial", trial}});
  }
  return complete(options, folder, std::move(journal));
}

}  // namespace ampgate::driver
