#include <algorithm>

#include "driver/collect.h"
#include "driver/validation.h"

namespace ampgate::driver {
namespace {

using results::Json;

constexpr int kRepeatProcesses =
    2;  // beside the validating one: bitwise equality is claimed of three processes

bool is_done(const Context& context, int process) {
  const auto& repeats = context.data().repeats;
  return std::any_of(repeats.begin(), repeats.end(),
                     [&](const Json& entry) { return entry.value("process", 0) == process; });
}

// The trial with what the repetitions say about it.
Json completed(const Context& context, Json trial) {
  Json& evidence = trial["evidence"];
  bool same = trial.value(Json::json_pointer("/accuracy/repeatable_in_process"), true);
  for (const auto& repeat : context.data().repeats) {
    const Json answer = repeat.at("trials").value(trial.at("id").get<std::string>(), Json::object());
    if (answer.contains("verdict")) {
      trial["verdict"] = answer.at("verdict");
      trial["reason"] = "in a repetition by a fresh process: " + answer.value("reason", "");
      return trial;
    }
    same = same && answer.value("outputs", Json()) == evidence.value("outputs", Json());
  }
  evidence["repeatable"] = same;
  evidence["processes"] = context.data().repeats.size() + 1;
  if (same) evidence.erase("checks");
  return trial;
}

}  // namespace

void repeat_trials(Context& context) {
  std::vector<Trial> open;
  std::copy_if(context.trials.begin(), context.trials.end(), std::back_inserter(open),
               [&](const Trial& trial) { return opens_gate(context, trial); });
  if (open.empty()) return;
  for (int process = 1; process <= kRepeatProcesses; ++process) {
    if (is_done(context, process)) continue;
    Json plan = worker_plan(context, "repeat", process);
    for (const auto& trial : open) {
      plan["trials"].push_back(planned(trial));
      const Json& evidence = context.data().trials.at(trial.id).at("evidence");
      if (evidence.contains("islands")) plan["trials"].back()["islands"] = evidence.at("islands");
    }
    const Json answers = collect_answers(context, plan);
    context.journal.append({{"repeat", {{"process", process}, {"trials", answers}}}});
    context.progress.advance("process " + std::to_string(process) + " done");
  }
  for (const auto& trial : open) {
    context.journal.append({{"trial", completed(context, context.data().trials.at(trial.id))}});
  }
}

}  // namespace ampgate::driver
