#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "driver/case_files.h"
#include "driver/commands.h"
#include "driver/cpus.h"
#include "driver/device.h"
#include "driver/report.h"
#include "driver/run_plan.h"
#include "driver/shape_check.h"
#include "driver/sweep.h"
#include "results/exit_code.h"
#include "results/record.h"

namespace ampgate::driver {
namespace {

using results::ExitCode;
using results::Json;

bool is_planned(const std::vector<Trial>& trials, const CaseShape& shape) {
  return std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    return trial.case_name == shape.info->name && trial.shape == shape.sizes;
  });
}

RunPlan make_plan(const Options& options, const WorkerFolder& folder, const DeviceChoice& device) {
  const bool measures = options.command == Command::kRun;
  RunPlan plan;
  plan.command = measures ? "run" : "validate";
  plan.device = device.name;
  plan.suite = options.suite;
  plan.seed = options.seed.value_or(1);
  load_rules(options, folder.manifest, plan);
  plan.settings = process_settings(options, device.numa_node);
  // Where the device has no TF32 and the rules require it, the trials say so as `unsupported`.
  const bool tf32 = device.tf32 || results::is_required(plan.rules, "tf32");
  auto shapes = select_shapes(folder.manifest, options);
  if (!options.sweep.empty()) plan.sweep = plan_sweep(options, folder, plan.device, shapes);
  plan.trials = select_trials(folder.manifest, shapes, options, tf32);
  if (has_own_shapes(options)) {
    std::erase_if(shapes, [&](const CaseShape& shape) { return !is_planned(plan.trials, shape); });
    if (options.sweep.empty()) check_shapes(shapes, folder, plan.device);
    plan.own_shapes = to_json(shapes);
  } else if (plan.suite == kFileSuite) {
    std::erase_if(shapes, [&](const CaseShape& shape) { return !is_planned(plan.trials, shape); });
    for (auto& shape : shapes) shape.from = "case file of " + shape.info->name;
    check_shapes(shapes, folder, plan.device);
  }
  plan.phases = {"validate", "repeat"};
  // Short runs, and those of a user's own sizes and cases, ask about those alone.
  if (plan.suite == "standard" || plan.suite == "large")
    plan.phases.insert(plan.phases.begin(), "fingerprint");
  if (measures) {
    const auto measuring = measuring_phases(plan.suite);
    plan.phases.insert(plan.phases.end(), measuring.begin(), measuring.end());
  }
  plan.schedule = make_schedule(options, plan);
  check_budget(plan);
  return plan;
}

void show(const Options& options, const RunPlan& plan) {
  const Estimate expected = estimate(plan.trials, plan.phases, plan.schedule);
  if (options.json) {
    Json trials = Json::array();
    for (const auto& trial : plan.trials) trials.push_back(to_json(trial));
    const Json document{{"device", plan.device}, {"suite", plan.suite},
                        {"seed", plan.seed},     {"settings", plan.settings},
                        {"phases", plan.phases}, {"schedule", to_json(plan.schedule)},
                        {"trials", trials},      {"at_least_s", expected.total_s()}};
    fmt::print("{}\n", results::to_text(document, 2));
    return;
  }
  for (const auto& trial : plan.trials) fmt::print("{}\n", trial.id);
  for (const auto& point : plan.sweep.is_null() ? Json::array() : plan.sweep.at("points")) {
    if (!point.contains("left_out")) continue;
    fmt::print("left out: {}/{}: {}\n", point.at("case").get<std::string>(),
               point.at("shape").get<std::string>(), point.at("left_out").get<std::string>());
  }
  fmt::print(
      "\n{} trials on {} with {} threads, seed {}; at least {}; large shapes take longer, and how "
      "long is not known before they run\n",
      plan.trials.size(), plan.device, plan.settings.at("threads").get<int>(), plan.seed,
      duration_words(expected.total_s()));
}

}  // namespace

ExitCode run(const Options& options) {
  const WorkerFolder folder = find_worker_and_cases(options);
  auto worst = ExitCode::kOk;
  for (const auto& device : choose_devices(options.device, folder)) {
    const RunPlan plan = make_plan(options, folder, device);
    if (options.dry_run) {
      show(options, plan);
      continue;
    }
    const auto environment = child_environment(plan.settings.at("threads").get<int>());
    auto journal = open_journal(options, journal_header(plan, options, folder, environment));
    worst = std::max(worst, complete(options, folder, std::move(journal)));
  }
  return worst;
}

ExitCode resume(const Options& options) {
  namespace fs = std::filesystem;
  constexpr std::string_view kEnding = ".journal.jsonl";
  if (options.resume.ends_with(kEnding)) {
    const std::string path = options.resume.substr(0, options.resume.size() - kEnding.size()) + ".json";
    if (fs::exists(path)) {  // killed between writing the record and removing the journal
      const Json record = results::read_record(path);
      print_record(options, results::to_text(record) + "\n", path);
      fs::remove(options.resume);
      return results::exit_code(record, results::parse_rules(record.at("rules").dump(), path));
    }
  }
  auto journal = results::Journal::resume(options.resume);
  check_digests(journal.data().header, options.resume + ": line 1");
  std::string wanted = options.worker;
  if (wanted.empty()) {
    const Json::json_pointer folder("/machine/worker/folder");
    if (journal.data().header.contains(folder)) wanted = journal.data().header.at(folder).get<std::string>();
  }
  Options with_worker = options;
  with_worker.worker = wanted;
  const WorkerFolder folder = find_worker_and_cases(with_worker);
  check_same_files(journal.data().header.at("plan").value("files", Json()), folder, options.resume);
  journal.append({{"resumed", Json::object()}});
  return complete(options, folder, std::move(journal));
}

}  // namespace ampgate::driver
