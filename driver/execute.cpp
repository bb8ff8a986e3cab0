#include "driver/execute.h"

#include <algorithm>

#include "driver/device_worker.h"
#include "driver/measuring.h"
#include "driver/process.h"
#include "driver/run_plan.h"
#include "driver/validation.h"
#include "results/error.h"
#include "results/record.h"

namespace ampgate::driver {
namespace {

using results::Json;

std::string measure(Context& context) {
  const Json& header = context.data().header;
  const auto schedule = schedule_from(header.at("plan").at("schedule"));
  const bool from_evidence = header.contains("evidence_source");
  const Json observed = header.value("observed_device", Json::object());
  const auto refusals = gate_refusals(context, observed);
  const auto open = std::count_if(context.trials.begin(), context.trials.end(), [&](const Trial& trial) {
    return opens_gate(context, trial) && refusals.count(trial.id) == 0;
  });
  if (from_evidence && open == 0) {
    const std::string reason = refusals.empty() ? "/verdict: no trial's verdict opens the gate"
                                                : refusals.begin()->first + ": " + refusals.begin()->second;
    throw results::GateError("the gate refuses every trial of this evidence. " + reason, "");
  }
  return measure_trials(context, schedule, refusals);
}

std::size_t steps(const Context& context, const std::string& phase) {
  if (phase == "repeat") return 2;
  if (phase == "bench") {
    const auto schedule = schedule_from(context.data().header.at("plan").at("schedule"));
    std::size_t count = static_cast<std::size_t>(schedule.processes);
    for (const auto& mode : schedule.extra_modes)
      count += mode == "sustained" ? 1 : static_cast<std::size_t>(schedule.processes);
    return count;
  }
  if (phase == "inspect" || phase == "ceilings" || phase == "fingerprint") return 1;
  return static_cast<std::size_t>(
      std::count_if(context.trials.begin(), context.trials.end(),
                    [&](const Trial& trial) { return context.data().trials.count(trial.id) == 0; }));
}

struct Phase {
  const char* name;
  double least_s;
};

Json run_phase(Context& context, const std::string& name) {
  Json result{{"name", name}};
  const auto begin = Clock::now();
  if (name == "validate") {
    validate_trials(context);
  } else if (name == "repeat") {
    repeat_trials(context);
  } else if (name == "fingerprint") {
    note_about_device(context, "fingerprint", "the fingerprint of this device was not taken");
  } else if (name == "ceilings") {
    measure_ceilings(context);
  } else if (name == "bench") {
    result["ended_because"] = measure(context);
  } else if (name == "inspect") {
    inspect_trials(context);
  }
  result["wall_time_ns"] = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
  return result;
}

}  // namespace

Context make_context(results::Journal& journal, Progress& progress, const WorkerFolder& folder) {
  const Json& header = journal.data().header;
  const std::string where = journal.path().string() + ": line 1";
  try {
    auto rules = results::parse_rules(header.at("rules").dump(), where);
    Context context{.workers = {},
                    .rules = std::move(rules),
                    .journal = journal,
                    .progress = progress,
                    .trials = {},
                    .estimate = {}};
    const Json& plan = header.at("plan");
    for (const auto& entry : plan.at("trials")) context.trials.push_back(trial_from(entry));
    const auto build_id = header.at("machine").at("worker").at("build_id").get<std::string>();
    if (build_id != folder.manifest.build_id) {
      throw results::EnvironmentError(
          "the workers in " + folder.path.string() + " are of another build than this run's",
          "start the run again");
    }
    context.workers.folder = &folder;
    context.workers.environment = child_environment(plan.at("settings").at("threads").get<int>());
    context.workers.log = journal.record_path().replace_extension(".log");
    context.workers.trial_limit_s = context.rules.trial_limit_s;
    context.estimate = estimate(context.trials, plan.at("phases").get<std::vector<std::string>>(),
                                schedule_from(plan.at("schedule")));
    return context;
  } catch (const Json::exception& error) {
    throw results::FileError(where, error.what(), "the journal was changed: start the run again");
  }
}

void execute(Context& context) {
  const Estimate& expected = context.estimate;
  const Phase phases[] = {{"fingerprint", expected.fingerprint_s}, {"validate", expected.validate_s},
                          {"repeat", expected.repeat_s},           {"inspect", expected.inspect_s},
                          {"ceilings", expected.ceilings_s},       {"bench", expected.bench_s}};
  double later_s = expected.total_s();
  const auto wanted = context.data().header.at("plan").at("phases").get<std::vector<std::string>>();
  for (const auto& phase : phases) {
    later_s -= phase.least_s;
    const bool asked = std::find(wanted.begin(), wanted.end(), phase.name) != wanted.end();
    if (!asked || context.data().ended(phase.name)) continue;
    context.progress.begin(phase.name, steps(context, phase.name), phase.least_s, later_s);
    context.journal.append({{"phase", run_phase(context, phase.name)}});
  }
}

}  // namespace ampgate::driver
