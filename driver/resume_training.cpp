#include "driver/resume_training.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/names.h"
#include "driver/quoting.h"
#include "driver/resumed_steps.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::ExitCode;
using results::Json;

const Json::json_pointer kBeforeBad("/checkpoints/before_bad");

bool from_record(const Options& options) { return options.from.empty(); }

// "cuda" of "cuda:1": only on the same kind of device are a step's bits the same.
std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

// What a plan of phase `resume` says of the checkpoint.
Json request(const Options& options, const Json& recorded, bool same_build) {
  Json asked{{"steps", options.steps.value_or(1)},
             {"other_precision", !options.precisions.empty()},
             {"other_build", false}};
  if (!options.keep.empty()) asked["keep"] = absolute(options.keep);
  if (!from_record(options)) {
    asked["folder"] = absolute(options.from);
    return asked;
  }
  const Json& kept = recorded.at(kBeforeBad);
  const fs::path folder = fs::absolute(options.record).parent_path() / kept.at("folder").get<std::string>();
  std::error_code error;
  if (!fs::exists(folder, error)) {
    throw results::FileError(folder.string(), "the record names this checkpoint, and it is not there",
                             "copy it to its place beside the record, or run the whole training again: " +
                                 recorded.value("reproducer", "ampgate validate"));
  }
  asked["folder"] = folder.string();
  asked["digest"] = kept.at("digest");
  asked["other_build"] = !same_build;
  return asked;
}

Json ask(Context& context, Json asked) {
  const Trial& trial = context.trials.front();
  Json plan = worker_plan(context, "resume", 0);
  plan["trials"] = {planned(trial)};
  plan["trials"][0]["checkpoint"] = std::move(asked);
  Json answer;
  const Ending ending = run_worker(context.workers, plan, [&](const auto& name, const Json& event) {
    if (name == "trial_finished") answer = body_of(event);
  });
  if (!answer.is_null()) return answer;
  return {{"verdict", ending.timed_out ? "timed-out" : "crashed"}, {"reason", ending.reason}};
}

}  // namespace

bool resumes(const Options& options, const Json& recorded, const std::string& device) {
  if (!from_record(options)) return true;
  return recorded.contains(kBeforeBad) &&
         (options.device.empty() || kind_of(options.device) == kind_of(device));
}

Trial resumed_trial(const Options& options, const Json& recorded, Trial trial,
                    const std::vector<std::string>& precisions) {
  if (!recorded.contains("training") && !recorded.contains("checkpoints")) {
    throw results::UsageError("trial '" + trial.id + "' trained nothing: it has no checkpoint to go on from",
                              "leave --from out");
  }
  if (options.precisions.empty()) return trial;
  if (options.precisions.size() > 1 ||
      std::find(precisions.begin(), precisions.end(), options.precisions.front()) == precisions.end()) {
    throw results::UsageError(
        "--precision must be one precision, not '" + join(options.precisions, ",") + "'",
        suggest(options.precisions.front(), precisions));
  }
  trial.precision = options.precisions.front();
  trial.id = trial.group() + "/" + trial.precision;
  return trial;
}

ExitCode resume_training(const Options& options, const Json& recorded, bool same_build, Context& context) {
  const Json asked = request(options, recorded, same_build);
  const Json answer = ask(context, asked);
  Json result = compare_with_record(recorded, answer, context.trials.front(), from_record(options));
  result["checkpoint"] = asked.at("folder");
  result["same_build"] = same_build;
  if (options.json) {
    fmt::print("{}\n", results::to_text(result, 2));
  } else {
    fmt::print("{}", in_words(result));
  }
  return result.value("same", true) ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace ampgate::driver
