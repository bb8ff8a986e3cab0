#include "driver/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "driver/case_files.h"
#include "driver/case_rules.h"
#include "driver/machine.h"
#include "driver/quoting.h"
#include "results/error.h"
#include "results/journal.h"
#include "results/record.h"
#include "results/sha256.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::Json;

// One command that runs this trial alone, with its baseline.
std::string reproducer(const Trial& trial, const RunPlan& plan, const Options& options,
                       const WorkerFolder& folder) {
  std::string sizes = file_options(folder, trial.case_name);
  if (sizes.empty())
    sizes = plan.suite == kOwnSuite ? " --shape " + trial.shape_name : " --suite " + plan.suite;
  std::string line = fmt::format(
      "ampgate validate --device {}{} --case {} --precision {} --seed {} --threads {}", plan.device, sizes,
      trial.id, trial.precision, plan.seed, plan.settings.at("threads").get<int>());
  if (!options.rules_file.empty()) line += " --rules " + quoted(absolute(options.rules_file));
  if (!options.worker.empty()) line += " --worker " + quoted(absolute(options.worker));
  return line;
}

// What cases of files ask for, where the rules say nothing about them.
void add_limits_of_cases(const Manifest& manifest, results::Rules& rules) {
  for (const auto& info : manifest.cases) {
    if (info.minimum_accuracy) rules.minimum_accuracy.try_emplace(info.name, *info.minimum_accuracy);
    if (info.maximum_rmse) rules.maximum_rmse.try_emplace(info.name, *info.maximum_rmse);
  }
}

void read_rules(const Options& options, const Manifest& manifest, RunPlan& plan) {
  const std::string& path = options.rules_file;
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || !fs::is_regular_file(path, error))
    throw results::FileError(path, "cannot be read", "give a rules file that is there");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  plan.rules = results::parse_rules(text, path);
  check_case_rules(plan.rules, manifest, path);
  plan.rules_file = {{"name", path}, {"sha256", results::sha256_hex(text)}};
}

}  // namespace

void load_rules(const Options& options, const Manifest& manifest, RunPlan& plan) {
  if (!options.rules_file.empty()) read_rules(options, manifest, plan);
  add_limits_of_cases(manifest, plan.rules);
}

Schedule make_schedule(const Options& options, const RunPlan& plan) {
  constexpr int kPreciseProcesses = 5;
  constexpr double kPreciseHalfWidth = 0.01;
  constexpr double kBudget = 1800.0;
  constexpr double kSmokeCellMs = 2.0;  // smoke shows in seconds that all works; its times are rough
  constexpr double kGpuCellMs = 200.0;  // shorter ones are bursts, faster than clocks that settle
  Schedule schedule;
  const int least = options.precise ? kPreciseProcesses : 1;
  schedule.processes = options.processes.value_or(std::max(plan.rules.measurement.processes, least));
  if (schedule.processes < least) {
    throw results::UsageError(fmt::format("--precise needs at least {} processes", kPreciseProcesses),
                              "leave --processes out");
  }
  schedule.blocks = (plan.rules.measurement.min_blocks + schedule.processes - 1) / schedule.processes;
  if (options.precise) schedule.target_half_width = kPreciseHalfWidth;
  if (options.width_percent) schedule.target_half_width = *options.width_percent / 100;
  schedule.cell_time_ms = plan.rules.measurement.cell_time_ms;
  if (plan.device != "cpu") schedule.cell_time_ms = std::max(schedule.cell_time_ms, kGpuCellMs);
  if (plan.suite == "smoke" && !schedule.target_half_width)
    schedule.cell_time_ms = std::min(schedule.cell_time_ms, kSmokeCellMs);
  if (schedule.target_half_width) schedule.budget_s = options.budget_s.value_or(kBudget);
  for (const auto& [asked, mode] :
       {std::pair{options.cold, "cold"}, std::pair{options.latency, "latency"},
        std::pair{options.sustained, "sustained"}, std::pair{options.default_malloc, "default-malloc"}}) {
    if (asked) schedule.extra_modes.emplace_back(mode);
  }
  schedule.sustained_s = plan.rules.measurement.sustained_s;
  return schedule;
}

std::vector<std::string> measuring_phases(const std::string& suite) {
  if (suite == "smoke") return {"inspect", "bench"};
  return {"inspect", "ceilings", "bench"};
}

void check_budget(const RunPlan& plan) {
  Schedule warm = plan.schedule;
  warm.extra_modes.clear();  // the budget is that of the warm calls
  const double needed = estimate(plan.trials, {"bench"}, warm).bench_s;
  if (!plan.schedule.target_half_width || needed <= plan.schedule.budget_s) return;
  throw results::UsageError(
      fmt::format(
          "--budget-s {:.3g} is spent before the first look: {} processes with {} blocks of {} trials take "
          "at least {:.3g} s",
          plan.schedule.budget_s, plan.schedule.processes, plan.schedule.blocks, plan.trials.size(), needed),
      "give more seconds, or select fewer cases with --case");
}

Estimate estimate(const std::vector<Trial>& trials, const std::vector<std::string>& phases,
                  const Schedule& schedule) {
  // Seconds a process or a trial.
  constexpr double kStart = 0.2, kJudge = 0.02, kRepeat = 0.002, kInspect = 0.05, kCeilings = 1.0,
                   kFingerprint = 1.0;
  const auto count = static_cast<double>(trials.size());
  const double cells = schedule.blocks * schedule.cell_time_ms / 1e3;
  const auto has = [&](const char* phase) {
    return std::find(phases.begin(), phases.end(), phase) != phases.end();
  };
  Estimate result;
  if (has("validate")) result.validate_s = kStart + count * kJudge;
  if (has("repeat")) result.repeat_s = 2 * (kStart + count * kRepeat);
  if (has("bench")) {
    result.bench_s = schedule.processes * (kStart + count * cells);
    for (const auto& mode : schedule.extra_modes) {
      // Cells of single calls are as long as others at most: what they take at least is not known.
      if (mode == "sustained") result.bench_s += kStart + count * schedule.sustained_s;
      if (mode == "default-malloc") result.bench_s += schedule.processes * (kStart + count * cells);
    }
  }
  if (has("ceilings")) result.ceilings_s = kCeilings;
  if (has("fingerprint")) result.fingerprint_s = kFingerprint;
  if (has("inspect")) result.inspect_s = kStart + count * kInspect;
  return result;
}

Json journal_header(const RunPlan& plan, const Options& options, const WorkerFolder& folder,
                    const ChildEnvironment& environment) {
  Json trials = Json::array();
  for (const auto& trial : plan.trials) {
    trials.push_back(to_json(trial));
    trials.back()["reproducer"] = reproducer(trial, plan, options, folder);
  }
  Json header{{"ampgate_journal", results::kJournalVersion}};
  header["run"] = {{"id", compact_utc_now() + "-" + random_id()},
                   {"command", plan.command},
                   {"command_line", options.command_line},
                   {"started", utc_now()},
                   {"ampgate", AMPGATE_VERSION}};
  header["machine"] = describe_machine();
  header["machine"]["worker"] = {{"folder", folder.path.string()},
                                 {"build_id", folder.manifest.build_id},
                                 {"libtorch", folder.manifest.libtorch}};
  header["machine"]["variables"] = {{"set", environment.set}, {"removed", environment.removed}};
  header["plan"] = {{"device", plan.device},
                    {"suite", plan.suite},
                    {"seed", plan.seed},
                    {"selection", {{"cases", options.cases}, {"precisions", options.precisions}}},
                    {"settings", plan.settings},
                    {"phases", plan.phases},
                    {"schedule", to_json(plan.schedule)},
                    {"trials", trials}};
  if (!plan.own_shapes.is_null()) header["plan"]["selection"]["shapes"] = plan.own_shapes;
  if (!plan.sweep.is_null()) header["plan"]["sweep"] = plan.sweep;
  if (!folder.files.is_null()) header["plan"]["files"] = folder.files;
  header["plan_sha256"] = results::sha256_hex(results::to_text(header["plan"]));
  header["rules"] = results::to_json(plan.rules);
  header["rules_sha256"] = results::rules_digest(plan.rules);
  if (!plan.rules_file.is_null()) header["rules_file"] = plan.rules_file;
  if (!plan.evidence_source.is_null()) header["evidence_source"] = plan.evidence_source;
  if (!plan.observed_device.is_null()) header["observed_device"] = plan.observed_device;
  return header;
}

void check_digests(const Json& header, const std::string& where) {
  const auto check = [&](const char* key, const std::string& now) {
    if (header.value(std::string(key) + "_sha256", "") == now) return;
    throw results::FileError(where + "#/" + key,
                             std::string("altered: its digest is not /") + key + "_sha256",
                             "only an untouched journal can be resumed: start the run again");
  };
  check("plan", results::sha256_hex(results::to_text(header.at("plan"))));
  check("rules", results::rules_digest(results::parse_rules(header.at("rules").dump(), where)));
}

}  // namespace ampgate::driver
