#include "driver/resume_training.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/names.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::ExitCode;
using results::Json;

const Json::json_pointer kBeforeBad("/checkpoints/before_bad");

bool from_record(const Options& options) { return options.from.empty(); }

bool same_build(const Json& recorded, const Context& context) {
  const auto build = recorded.value(Json::json_pointer("/evidence/build_id"), "");
  return build.empty() || build == context.workers.folder->manifest.build_id;
}

// What a plan of phase `resume` says of the checkpoint.
Json request(const Options& options, const Json& recorded, const Context& context) {
  Json asked{{"steps", options.steps.value_or(1)},
             {"other_precision", !options.precisions.empty()},
             {"other_build", false}};
  if (!options.keep.empty()) asked["keep"] = fs::absolute(options.keep).lexically_normal().string();
  if (!from_record(options)) {
    asked["folder"] = fs::absolute(options.from).lexically_normal().string();
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
  asked["other_build"] = !same_build(recorded, context);
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

// What the steps taken now have in common with the record's.
struct Comparison {
  std::int64_t compared = 0;                // steps that both hold
  std::optional<std::int64_t> different{};  // the first that is not the same to the last bit
  std::string absent;                       // why nothing was compared
};

bool same_step(const Json& before, std::size_t number, const Json& now, std::size_t taken) {
  for (const auto& [key, values] : now.items()) {
    if (values.is_array() && before.at(key).at(number) != values.at(taken)) return false;
  }
  return true;
}

Comparison compare_steps(const Json& recorded, const Json& resumed, const std::string& precision) {
  if (recorded.at("precision") != precision || !resumed.at("changes").empty())
    return {.absent = "the record's training has another precision"};
  const Json before = recorded.value(Json::json_pointer("/training/steps"), Json::object());
  const auto known = before.value("weights", Json::array()).size();
  const auto first = resumed.at("iteration").get<std::size_t>();
  const Json& now = resumed.at("steps");
  if (first >= known) return {.absent = "the record holds no steps as late as these"};
  Comparison result;
  for (std::size_t i = 0; i < now.at("weights").size() && first + i < known; ++i, ++result.compared) {
    if (!result.different && !same_step(before, first + i, now, i))
      result.different = static_cast<std::int64_t>(first + i);
  }
  return result;
}

// Operator, place and cause; null on both sides is the same, too.
bool same_origin(const Json& a, const Json& b) {
  for (const char* key : {"class", "index", "operator", "region", "reason", "text"}) {
    if (a.value(key, Json()) != b.value(key, Json())) return false;
  }
  return true;
}

// Everything that is said, and whether it is as in the record; absent where there is nothing to compare with.
Json summary(const Options& options, const Json& recorded, const Context& context, const Json& answer) {
  Json result{{"id", context.trials.front().id}};
  if (answer.contains("verdict")) {
    result["same"] = recorded.at("verdict") == answer.at("verdict");
    for (const char* key : {"verdict", "reason"})
      result[key] = {{"record", recorded.at(key)}, {"now", answer.at(key)}};
    return result;
  }
  const Json& resumed = answer.at("resumed");
  const Comparison steps = compare_steps(recorded, resumed, context.trials.front().precision);
  bool same = !steps.different;
  const bool bad_step_again =
      resumed.value("bad_step", Json(-1)) == recorded.value(Json::json_pointer("/training/bad_step"), Json());
  if (from_record(options) || (bad_step_again && steps.absent.empty())) {
    result["same_first_bad"] =
        same_origin(resumed.value("first_bad", Json::object()),
                    recorded.value(Json::json_pointer("/explanation/first_bad"), Json::object()));
    same = same && result["same_first_bad"].get<bool>();
  }
  if (from_record(options)) {
    result["same_loss"] = recorded.at(kBeforeBad).value("loss", Json()) == resumed.at("losses").at(0);
    same = same && result["same_loss"].get<bool>();
  }
  if (steps.absent.empty()) {
    result["same"] = same;
    result["compared_steps"] = steps.compared;
    if (steps.different) result["first_different_step"] = *steps.different;
  } else {
    result["absent"] = {{"same", steps.absent}};
  }
  result["resumed"] = resumed;
  return result;
}

std::string same_words(const Json& result, const char* key) {
  if (!result.contains(key)) return "";
  return result.at(key).get<bool>() ? " (same as in the record)" : " (not as in the record)";
}

std::string in_words(const Json& identity) {
  std::string words =
      identity.at("precision").get<std::string>() + " on " + identity.at("device").get<std::string>();
  if (const Json& regions = identity.at("fp32_regions"); !regions.empty())
    words += " with " + join(regions.get<std::vector<std::string>>(), ", ") + " in FP32";
  return words;
}

// "step 7", "steps 7 to 9"
std::string steps_words(std::int64_t first, std::int64_t count) {
  if (count == 1) return fmt::format("step {}", first);
  return fmt::format("steps {} to {}", first, first + count - 1);
}

std::string compared_words(const Json& result, std::int64_t first, std::int64_t count) {
  if (!result.contains("same")) return "not compared: " + result.at("absent").at("same").get<std::string>();
  if (result.contains("first_different_step")) {
    return fmt::format("different bits than in the record from step {} on",
                       result.at("first_different_step").get<std::int64_t>());
  }
  const auto compared = result.at("compared_steps").get<std::int64_t>();
  return "same bits as in the record" +
         (compared < count ? ", which ends with " + steps_words(first + compared - 1, 1) : "");
}

std::string loss_words(const Json& loss) {
  return loss.is_string() ? loss.get<std::string>() : results::to_text(loss);
}

void print(const Json& result, const std::string& folder) {
  if (result.contains("verdict")) {
    fmt::print("from {}: {} ({} in the record): {}\n", folder,
               result.at("verdict").at("now").get<std::string>(),
               result.at("verdict").at("record").get<std::string>(),
               result.at("reason").at("now").get<std::string>());
    return;
  }
  const Json& resumed = result.at("resumed");
  const auto first = resumed.at("iteration").get<std::int64_t>();
  const auto count = static_cast<std::int64_t>(resumed.at("losses").size());
  for (const auto& change : resumed.at("changes")) {
    fmt::print("changed before step {}: from {} to {}\n", change.at("iteration").get<std::int64_t>(),
               in_words(change.at("from")), in_words(change.at("to")));
  }
  if (resumed.at("scaler") == "anew") fmt::print("The gradient scaler starts anew.\n");
  const std::string last = steps_words(first + count - 1, 1);
  fmt::print("{}, from {}: {}\n", steps_words(first, count), folder, compared_words(result, first, count));
  fmt::print("loss of {}: {}{}\n", last, loss_words(resumed.at("losses").back()),
             same_words(result, "same_loss"));
  if (resumed.contains("bad_step")) {
    fmt::print("first bad step: {}\n", resumed.at("bad_step").get<std::int64_t>());
    fmt::print("first bad value: {}{}\n", resumed.value("first_bad_in_words", "not found"),
               same_words(result, "same_first_bad"));
  }
  fmt::print("weights after {}: {}\n", last, resumed.at("weights").get<std::string>());
  if (resumed.contains("kept")) fmt::print("kept: digest {}\n", resumed.at("kept").get<std::string>());
}

}  // namespace

bool resumes(const Options& options, const Json& recorded) {
  return !from_record(options) || recorded.contains(kBeforeBad);
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

ExitCode resume_training(const Options& options, const Json& recorded, Context& context) {
  const Json asked = request(options, recorded, context);
  const Json answer = ask(context, asked);
  Json result = summary(options, recorded, context, answer);
  result["checkpoint"] = asked.at("folder");
  result["same_build"] = same_build(recorded, context);
  if (options.json) {
    fmt::print("{}\n", results::to_text(result, 2));
  } else {
    print(result, asked.at("folder").get<std::string>());
    if (!result.at("same_build").get<bool>())
      fmt::print("The workers here are of another build than the record's.\n");
  }
  return result.value("same", true) ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace ampgate::driver
