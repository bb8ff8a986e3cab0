#include "driver/measuring.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "driver/bench_process.h"
#include "driver/collect.h"
#include "driver/device_worker.h"
#include "driver/process.h"
#include "results/gate.h"
#include "results/measurement.h"
#include "results/samples.h"
#include "results/statistics.h"

namespace ampgate::driver {
namespace {

using results::Json;

bool is_measured_so_far(const Context& context, const Trial& trial) {
  const Json verdict = results::measurement_verdict(context.data(), trial.id, results::kWarm);
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

bool is_done(const Context& context, const BenchProcess& process) {
  const auto& bench = context.data().bench;
  return std::any_of(bench.begin(), bench.end(), [&](const Json& entry) {
    return entry.value("process", -1) == process.number && results::mode_of(entry) == process.mode;
  });
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The groups whose intervals are still wider than asked.
std::vector<std::vector<Trial>> wide_groups(const Context& context, const Schedule& schedule, int look) {
  auto open = open_groups(context);
  std::erase_if(open, [&](const auto& group) {
    return results::widest_interval(context.data(), group.front().group(), context.rules, look) <=
           *schedule.target_half_width;
  });
  return open;
}

// Processes that there must be at a look: as many as bring its blocks together.
int processes_at_look(const Schedule& schedule, int look) {
  if (look == 1) return schedule.processes;
  const int wanted = (results::blocks_at_look(look) + schedule.blocks - 1) / schedule.blocks;
  return std::max(wanted, processes_at_look(schedule, look - 1) + 1);
}

void run_one(Context& context, BenchProcesses& processes, const BenchProcess& process,
             const std::vector<std::vector<Trial>>& groups) {
  if (is_done(context, process)) return;
  processes.run(process, groups);
  context.progress.advance(fmt::format("{} process {} done", process.mode, process.number));
}

// Of the seconds that are left, for each group of each process that is to come in this look.
std::optional<double> group_time_s(const Schedule& schedule, double spent_s, int processes,
                                   std::size_t groups) {
  if (!schedule.target_half_width || groups == 0) return std::nullopt;
  return std::max(0.0, schedule.budget_s - spent_s) / static_cast<double>(processes) /
         static_cast<double>(groups);
}

// Returns why it ended.
std::string measure_warm(Context& context, const Schedule& schedule, BenchProcesses& processes) {
  constexpr auto kNarrow = "every interval is as narrow as asked";
  const auto begin = Clock::now();
  int number = 0;
  for (int look = 1;; ++look) {
    const int wanted = processes_at_look(schedule, look);
    for (; number < wanted; ++number) {
      const auto selected = look == 1 ? open_groups(context) : wide_groups(context, schedule, look - 1);
      const auto process_begin = Clock::now();
      run_one(context, processes,
              {number, results::kWarm, schedule.target_half_width ? look : 0,
               group_time_s(schedule, seconds_since(begin), wanted - number, selected.size())},
              selected);
      // The first look needs its processes: each gets its share of what is left, if only for one block.
      const bool in_first_look = look == 1 && number + 1 < wanted;
      const double next_s = in_first_look ? 0.0 : seconds_since(process_begin);
      if (schedule.target_half_width && seconds_since(begin) + next_s > schedule.budget_s) {
        return wide_groups(context, schedule, look).empty() ? kNarrow : "the time budget was spent";
      }
    }
    if (!schedule.target_half_width) return "the number of blocks was fixed";
    if (wide_groups(context, schedule, look).empty()) return kNarrow;
  }
}

}  // namespace

Json to_json(const Schedule& schedule) {
  Json json{{"processes", schedule.processes},
            {"blocks_per_process", schedule.blocks},
            {"cell_time_ms", schedule.cell_time_ms},
            {"extra_modes", schedule.extra_modes},
            {"sustained_s", schedule.sustained_s}};
  if (schedule.target_half_width) {
    json["target_half_width"] = *schedule.target_half_width;
    json["budget_s"] = schedule.budget_s;
  }
  return json;
}

Schedule schedule_from(const Json& json) {
  Schedule schedule;
  schedule.processes = json.at("processes").get<int>();
  schedule.blocks = json.at("blocks_per_process").get<int>();
  if (json.contains("target_half_width")) {
    schedule.target_half_width = json["target_half_width"].get<double>();
    schedule.budget_s = json.at("budget_s").get<double>();
  }
  schedule.cell_time_ms = json.at("cell_time_ms").get<double>();
  schedule.extra_modes = json.at("extra_modes").get<std::vector<std::string>>();
  schedule.sustained_s = json.at("sustained_s").get<double>();
  return schedule;
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
  BenchProcesses processes(context, schedule, refusals);
  const std::string ended = measure_warm(context, schedule, processes);
  for (const auto& mode : schedule.extra_modes) {
    // What runs for long alone is steady by itself; the others differ from process to process.
    const int count = mode == "sustained" ? 1 : schedule.processes;
    for (int number = 0; number < count; ++number)
      run_one(context, processes, {.number = number, .mode = mode}, open_groups(context));
  }
  return ended;
}

void inspect_trials(Context& context) {
  Json plan = worker_plan(context, "inspect", 0);
  plan["bench"] = bench_settings(context, schedule_from(context.data().header.at("plan").at("schedule")), {});
  for (const auto& group : open_groups(context)) {
    for (const auto& trial : group) plan["trials"].push_back(planned_with_evidence(context, trial));
  }
  if (plan["trials"].empty()) return;
  in_turn(context, [&](const Json&) {
    context.journal.append({{"inspect", collect_answers(context, plan)}});
  });
  context.progress.advance("done");
}

void measure_ceilings(Context& context) {
  context.progress.working_on("read, write, copy and matrix products");
  note_about_device(context, "ceilings", "the ceilings of this device were not measured");
}

}  // namespace ampgate::driver
