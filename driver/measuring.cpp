#include "driver/measuring.h"

#include <algorithm>
#include <set>

#include "driver/bench_process.h"
#include "driver/collect.h"
#include "driver/process.h"
#include "results/gate.h"
#include "results/measurement.h"

namespace ampgate::driver {
namespace {

using results::Json;

bool is_measured_so_far(const Context& context, const Trial& trial) {
  const Json verdict = results::measurement_verdict(context.data(), trial.id);
  return verdict.is_null() || verdict.at("verdict") == "measured";
}

// The groups that may still be measured, each with `fp32` beside the others.
std::vector<std::vector<Trial>> open_groups(const Context& context) {
  std::vector<std::vector<Trial>> open;
  for (const auto& group : groups(context.trials)) {
    std::vector<Trial> left;
    std::copy_if(group.begin(), group.end(), std::back_inserter(left), [&](const Trial& trial) {
      return opens_gate(context, trial) && is_measured_so_far(context, trial);
    });
    if (!left.empty() && left.front().precision == kBaseline) open.push_back(std::move(left));
  }
  return open;
}

bool is_done(const Context& context, int process) {
  const auto& bench = context.data().bench;
  return std::any_of(bench.begin(), bench.end(),
                     [&](const Json& entry) { return entry.value("process", -1) == process; });
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The groups whose intervals are still wider than asked.
std::vector<std::vector<Trial>> wide_groups(const Context& context, int look) {
  auto open = open_groups(context);
  std::erase_if(open, [&](const auto& group) {
    return results::widest_interval(context.data(), group.front().group(), context.rules, look) <=
           kPreciseHalfWidth;
  });
  return open;
}

}  // namespace

Json to_json(const Schedule& schedule) {
  return {{"processes", schedule.processes},
          {"blocks_per_process", schedule.blocks},
          {"precise", schedule.precise},
          {"budget_s", schedule.budget_s},
          {"cell_time_ms", schedule.cell_time_ms}};
}

Schedule schedule_from(const Json& json) {
  return {json.at("processes").get<int>(), json.at("blocks_per_process").get<int>(),
          json.at("precise").get<bool>(), json.at("budget_s").get<double>(),
          json.at("cell_time_ms").get<double>()};
}

std::map<std::string, std::string> gate_refusals(const Context& context, const Json& observed_device) {
  const Json& header = context.data().header;
  std::map<std::string, std::string> refusals;
  for (const auto& trial : context.trials) {
    if (!opens_gate(context, trial)) continue;
    Json observed{{"build_id", context.workers.folder->manifest.build_id},
                  {"case", trial.case_name},
                  {"shape", trial.shape_name},
                  {"precision", trial.precision},
                  {"seed", header.at("plan").at("seed")},
                  {"rules_sha256", header.at("rules_sha256")}};
    if (!observed_device.empty()) observed["device"] = observed_device;
    const auto& evidence = context.data().trials.at(trial.id).at("evidence");
    const auto answer = results::check_gate(evidence, verdict_of(context, trial), observed, context.rules);
    if (!answer.open) refusals[trial.id] = answer.reason;
  }
  return refusals;
}

std::string measure_trials(Context& context, const Schedule& schedule,
                           const std::map<std::string, std::string>& refusals) {
  const auto begin = Clock::now();
  BenchProcesses processes(context, schedule.blocks, refusals);
  int number = 0;
  for (int look = 1;; ++look) {
    auto selected = look == 1 ? open_groups(context) : wide_groups(context, look - 1);
    const auto round_begin = Clock::now();
    for (int i = 0; i < schedule.processes; ++i, ++number) {
      if (is_done(context, number)) continue;
      processes.run(number, schedule.precise ? look : 0, selected);
      context.progress.advance("process " + std::to_string(number) + " done");
      selected = look == 1 ? open_groups(context) : wide_groups(context, look - 1);
    }
    if (!schedule.precise) return "the number of blocks was fixed";
    if (wide_groups(context, look).empty()) return "every interval is within 1 % of its value";
    if (seconds_since(begin) + seconds_since(round_begin) > schedule.budget_s)
      return "the time budget was spent";
  }
}

void inspect_trials(Context& context) {
  Json plan = worker_plan(context, "inspect", 0);
  plan["bench"] = bench_settings(context, 1, 0);
  for (const auto& group : open_groups(context)) {
    for (const auto& trial : group) plan["trials"].push_back(planned_with_evidence(context, trial));
  }
  if (plan["trials"].empty()) return;
  context.journal.append({{"inspect", collect_answers(context, plan)}});
  context.progress.advance("done");
}

}  // namespace ampgate::driver
