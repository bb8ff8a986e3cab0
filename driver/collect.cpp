#include "driver/collect.h"

namespace ampgate::driver {
namespace {

using results::Json;

Json fault(const Ending& ending) {
  return {{"verdict", ending.timed_out ? "timed-out" : "crashed"},
          {"reason", (ending.timed_out ? "" : "the worker crashed: ") + ending.reason}};
}

}  // namespace

Json collect_answers(Context& context, const Json& plan) {
  Json answers = Json::object();
  Respawns respawns(context);
  for (;;) {
    Json rest = plan;
    rest["trials"] = Json::array();
    for (const auto& trial : plan.at("trials")) {
      if (!answers.contains(trial.at("id").get<std::string>())) rest["trials"].push_back(trial);
    }
    if (rest["trials"].empty()) return answers;
    const auto before = answers.size();
    const Ending ending = run_worker(context.workers, rest, [&](const auto& name, const Json& event) {
      if (name == "environment") return note_environment(context, event);
      const auto id = event.at("id").template get<std::string>();
      if (name == "trial_started") context.progress.working_on(id);
      if (name == "trial_finished") answers[id] = body_of(event);
    });
    if (ending.answered) {
      for (const auto& trial : rest["trials"]) {
        const auto id = trial.at("id").get<std::string>();
        if (!answers.contains(id)) {
          answers[id] = {{"verdict", "crashed"},
                         {"reason", "the worker ended without having answered this trial"}};
        }
      }
    } else if (!ending.in_flight.empty() && !answers.contains(ending.in_flight)) {
      answers[ending.in_flight] = fault(ending);
    }
    respawns.note(answers.size() > before, ending);
  }
}

}  // namespace ampgate::driver
