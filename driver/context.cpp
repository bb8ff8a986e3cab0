#include "driver/context.h"

#include "results/checkpoint_place.h"
#include "results/error.h"

namespace ampgate::driver {

using results::Json;

void in_turn(Context& context, const std::function<void(const Json& turn)>& work) {
  if (context.turns == nullptr) return work(nullptr);
  context.progress.working_on("waits for its turn");
  context.turns->take(work);
}

std::vector<std::vector<Trial>> groups(const std::vector<Trial>& trials) {
  std::vector<std::vector<Trial>> result;
  for (const auto& trial : trials) {
    if (result.empty() || result.back().front().group() != trial.group()) result.emplace_back();
    result.back().push_back(trial);
  }
  return result;
}

results::Verdict verdict_of(const Context& context, const Trial& trial) {
  return results::verdict_from(context.data().trials.at(trial.id).at("verdict").get<std::string>());
}

bool opens_gate(const Context& context, const Trial& trial) {
  return results::opens_gate(verdict_of(context, trial), context.rules.suspect_opens_gate);
}

Json worker_plan(const Context& context, const std::string& phase, int process) {
  const Json& header = context.data().header;
  const Json& plan = header.at("plan");
  Json document{{"ampgate_plan", 1},
                {"phase", phase},
                {"run_id", header.at("run").at("id")},
                {"build_id", context.workers.folder->manifest.build_id},
                {"device", plan.at("device")},
                {"seed", plan.at("seed")},
                {"process", process},
                {"rules", header.at("rules")},
                {"rules_sha256", header.at("rules_sha256")},
                {"settings", plan.at("settings")},
                {"trials", Json::array()}};
  if (plan.contains("files")) document["files"] = plan.at("files");
  return document;
}

std::filesystem::path checkpoint_folder(const results::Journal& journal) {
  return results::checkpoint_root(std::filesystem::absolute(journal.record_path()));
}

Json planned(const Trial& trial) {
  return {
      {"id", trial.id}, {"case", trial.case_name}, {"shape", trial.shape}, {"precision", trial.precision}};
}

void note_environment(Context& context, const Json& event) {
  if (context.data().environment.is_null()) context.journal.append({{"environment", body_of(event)}});
}

Json body_of(const Json& event) {
  Json body = event;
  body.erase("event");
  return body;
}

void Respawns::note(bool progress, const Ending& ending) {
  fruitless_ = progress ? 0 : fruitless_ + 1;
  if (fruitless_ < 2) return;
  // A worker that cannot even write its log may end for that alone.
  std::error_code error;
  const auto disk = std::filesystem::space(context_.workers.log.parent_path(), error);
  if (!error && disk.available == 0) {
    throw results::EnvironmentError(context_.workers.log.parent_path().string() + ": No space left on device",
                                    "free some space, or choose another folder with --archive");
  }
  throw results::EnvironmentError("the worker in " + context_.workers.folder->path.string() +
                                      " keeps ending before its first trial: " + ending.reason,
                                  "its output is in " + context_.workers.log.string());
}

}  // namespace ampgate::driver
