#include <algorithm>

#include "driver/collect.h"
#include "driver/validation.h"

namespace ampgate::driver {
namespace {

using results::Json;

constexpr int kRepeatProcesses =
    2;  // beside the validating one: bitwise equality is claimed of three processes

// Where these do not give the same bits, one more is told what the validating process got, and says how far
// apart they are.
constexpr int kSpreadProcess = kRepeatProcesses + 1;

bool is_done(const Context& context, int process) {
  const auto& repeats = context.data().repeats;
  return std::any_of(repeats.begin(), repeats.end(),
                     [&](const Json& entry) { return entry.value("process", 0) == process; });
}

// What the processes answered for one trial.
std::vector<Json> answers_for(const Context& context, const std::string& id) {
  std::vector<Json> answers;
  for (const auto& repeat : context.data().repeats) {
    const Json& trials = repeat.at("trials");
    if (const auto found = trials.find(id); found != trials.end()) answers.push_back(*found);
  }
  return answers;
}

bool gave_other_bits(const Json& answer, const Json& trial) {
  return !answer.contains("verdict") &&
         answer.value("outputs", Json()) != trial.at("evidence").value("outputs", Json());
}

void add_spread(const Json& spread, Json& trial) {
  Json& accuracy = trial["accuracy"]["across_processes"];
  accuracy = spread;
  accuracy.erase("place");
  if (spread.at("outside") == 0) return;
  trial["verdict"] = "unrepeatable";
  trial["reason"] = "a fresh process gives another output, outside the bound at " +
                    spread.at("outside").dump() + " of " + spread.at("positions").dump() +
                    " checked positions: " + spread.at("place").get<std::string>();
}

// The trial with what the repetitions say about it.
Json completed(const Context& context, Json trial) {
  Json& evidence = trial["evidence"];
  bool same = trial.value(Json::json_pointer("/accuracy/repeatable_in_process"), true);
  bool same_across = true;
  const auto answers = answers_for(context, trial.at("id").get<std::string>());
  for (const auto& answer : answers) {
    if (answer.contains("verdict")) {
      trial["verdict"] = answer.at("verdict");
      trial["reason"] = "in a repetition by a fresh process: " + answer.value("reason", "");
      return trial;
    }
    same_across = same_across && !gave_other_bits(answer, trial);
    if (answer.contains("spread")) add_spread(answer.at("spread"), trial);
  }
  trial["accuracy"]["repeatable_across_processes"] = same_across;
  same = same && same_across;
  evidence["repeatable"] = same;
  evidence["processes"] = answers.size() + 1;
  if (same) evidence.erase("checks");
  return trial;
}

void run_process(Context& context, int process, const std::vector<Trial>& trials, bool with_evidence) {
  if (trials.empty() || is_done(context, process)) return;
  Json plan = worker_plan(context, "repeat", process);
  for (const auto& trial : trials) {
    plan["trials"].push_back(planned(trial));
    const Json& evidence = context.data().trials.at(trial.id).at("evidence");
    if (evidence.contains("islands")) plan["trials"].back()["islands"] = evidence.at("islands");
    if (with_evidence) plan["trials"].back()["evidence"] = evidence;
  }
  const Json answers = collect_answers(context, plan);
  context.journal.append({{"repeat", {{"process", process}, {"trials", answers}}}});
  context.progress.advance("process " + std::to_string(process) + " done");
}

}  // namespace

void repeat_trials(Context& context) {
  std::vector<Trial> open;
  std::copy_if(context.trials.begin(), context.trials.end(), std::back_inserter(open),
               [&](const Trial& trial) { return opens_gate(context, trial); });
  for (int process = 1; process <= kRepeatProcesses; ++process) run_process(context, process, open, false);
  std::vector<Trial> differing;
  std::copy_if(open.begin(), open.end(), std::back_inserter(differing), [&](const Trial& trial) {
    const Json& judged = context.data().trials.at(trial.id);
    const auto answers = answers_for(context, trial.id);
    return judged.at("evidence").contains("checks") &&
           std::any_of(answers.begin(), answers.end(),
                       [&](const Json& answer) { return gave_other_bits(answer, judged); });
  });
  run_process(context, kSpreadProcess, differing, true);
  for (const auto& trial : open) {
    context.journal.append({{"trial", completed(context, context.data().trials.at(trial.id))}});
  }
}

}  // namespace ampgate::driver
