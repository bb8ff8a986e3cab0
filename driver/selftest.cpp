// `ampgate selftest`: puts known faults into every operator, of the build or of the user's case files, and
// asks the detector for its verdict.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "driver/case_files.h"
#include "driver/child_environment.h"
#include "driver/commands.h"
#include "driver/context.h"
#include "driver/cpus.h"
#include "driver/device.h"
#include "driver/plan.h"
#include "driver/selftest_report.h"
#include "driver/terminal.h"
#include "driver/worker.h"
#include "results/record.h"
#include "results/rules.h"

namespace ampgate::driver {
namespace {

using results::Json;

constexpr int kShortSeeds = 2, kDeepSeeds = 200;
constexpr double kShortLimit_s = 600, kDeepLimit_s = 7200;  // for all seeds of a case together
constexpr double kShortTrial_s = 0.25, kDeepTrial_s = 6;    // at least, on two cores

// Every case once, in its first shape. Islands are a remedy: they run what the other precisions run.
std::vector<Trial> first_shapes(const std::vector<Trial>& trials) {
  std::vector<Trial> chosen;
  std::set<std::string> cases, groups;
  for (const auto& trial : trials) {
    if (trial.precision.rfind("islands-", 0) == 0) continue;
    if (cases.insert(trial.case_name).second) groups.insert(trial.group());
    if (groups.count(trial.group()) != 0) chosen.push_back(trial);
  }
  return chosen;
}

Json make_plan(const Options& options, const WorkerFolder& folder, const std::string& device,
               const std::vector<Trial>& trials) {
  const results::Rules rules;
  Json entries = Json::array();
  for (const auto& trial : trials) entries.push_back(planned(trial));
  Json plan{{"ampgate_plan", 1},
            {"phase", "selftest"},
            {"run_id", "selftest"},
            {"build_id", folder.manifest.build_id},
            {"device", device},
            {"seed", options.seed.value_or(1)},
            {"process", 0},
            {"rules", results::to_json(rules)},
            {"rules_sha256", results::rules_digest(rules)},
            {"settings", process_settings(options)},
            {"selftest", {{"deep", options.deep}, {"clean_seeds", options.deep ? kDeepSeeds : kShortSeeds}}},
            {"trials", std::move(entries)}};
  if (!folder.files.is_null()) plan["files"] = folder.files;
  return plan;
}

void print(const Options& options, const Json& record) {
  if (options.json) {
    fmt::print("{}\n", results::to_text(record, 2));
  } else {
    if (!options.quiet) fmt::print("{}\n", selftest_table(record));
    fmt::print("{}", selftest_answer(record));
  }
}

}  // namespace

results::ExitCode selftest(const Options& options) {
  const WorkerFolder folder = find_worker_and_cases(options);
  Options smoke = options;
  if (options.case_files.empty()) smoke.suite = "smoke";
  const auto trials = first_shapes(
      select_trials(folder.manifest, select_shapes(folder.manifest, smoke), smoke, /*tf32=*/false));
  const std::string device = choose_devices(options.device, folder).front().name;
  const Json plan = make_plan(options, folder, device, trials);

  WorkerSetup setup;
  setup.folder = &folder;
  setup.environment = child_environment(plan.at("settings").at("threads").get<int>());
  setup.trial_limit_s = options.deep ? kDeepLimit_s : kShortLimit_s;

  Json record{{"ampgate_selftest", 1},  {"build_id", folder.manifest.build_id},
              {"device", device},       {"deep", options.deep},
              {"seed", plan["seed"]},   {"environment", Json::object()},
              {"trials", Json::array()}};
  if (!folder.files.is_null()) record["files"] = folder.files;
  Ending ending;
  {
    Progress progress(options.quiet);
    progress.begin("selftest", trials.size(),
                   static_cast<double>(trials.size()) * (options.deep ? kDeepTrial_s : kShortTrial_s), 0);
    ending = run_worker(setup, plan, [&](const std::string& name, const Json& event) {
      Json body = body_of(event);
      if (name == "environment") record["environment"] = body;
      if (name == "trial_started") progress.working_on(event.at("id").get<std::string>());
      if (name != "trial_finished") return;
      const std::size_t missed = not_caught(body).size();
      progress.advance(fmt::format("{}: {}", body.at("id").get<std::string>(),
                                   missed == 0 ? "nothing missed" : fmt::format("{} missed", missed)),
                       missed > 0);
      record["trials"].push_back(std::move(body));
    });
  }
  record["ended"] =
      ending.answered ? "" : ending.reason + (ending.in_flight.empty() ? "" : " in " + ending.in_flight);
  record["summary"] = selftest_summary(record);
  print(options, record);
  return record["summary"].at("good").get<bool>() ? results::ExitCode::kOk : results::ExitCode::kFailed;
}

}  // namespace ampgate::driver
