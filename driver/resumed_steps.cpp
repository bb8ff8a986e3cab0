#include "driver/resumed_steps.h"

#include <fmt/format.h>

#include <optional>

#include "driver/names.h"

namespace ampgate::driver {
namespace {

using results::Json;

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

}  // namespace

Json compare_with_record(const Json& recorded, const Json& answer, const Trial& trial, bool bad_batch) {
  Json result{{"id", trial.id}};
  if (answer.contains("verdict")) {
    result["same"] = recorded.at("verdict") == answer.at("verdict");
    for (const char* key : {"verdict", "reason"})
      result[key] = {{"record", recorded.at(key)}, {"now", answer.at(key)}};
    return result;
  }
  const Json& resumed = answer.at("resumed");
  Comparison steps = compare_steps(recorded, resumed, trial.precision);
  // In the record the step threw, so that it holds no steps at all.
  if (bad_batch && !recorded.contains("training"))
    steps = {.different = resumed.at("iteration").get<std::int64_t>(), .absent = ""};
  bool same = !steps.different;
  const bool bad_step_again =
      resumed.value("bad_step", Json(-1)) == recorded.value(Json::json_pointer("/training/bad_step"), Json());
  if (bad_batch || (bad_step_again && steps.absent.empty())) {
    result["same_first_bad"] =
        same_origin(resumed.value("first_bad", Json::object()),
                    recorded.value(Json::json_pointer("/explanation/first_bad"), Json::object()));
    same = same && result["same_first_bad"].get<bool>();
  }
  if (bad_batch) {
    result["same_loss"] = recorded.value(Json::json_pointer("/checkpoints/before_bad/loss"), Json()) ==
                          resumed.at("losses").at(0);
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

namespace {

std::string same_words(const Json& result, const char* key) {
  if (!result.contains(key)) return "";
  return result.at(key).get<bool>() ? " (same as in the record)" : " (not as in the record)";
}

std::string identity_words(const Json& identity) {
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

}  // namespace

std::string in_words(const Json& result) {
  const auto folder = result.at("checkpoint").get<std::string>();
  const std::string build =
      result.at("same_build").get<bool>() ? "" : "The workers here are of another build than the record's.\n";
  if (result.contains("verdict")) {
    return fmt::format("from {}: {} ({} in the record): {}\n", folder,
                       result.at("verdict").at("now").get<std::string>(),
                       result.at("verdict").at("record").get<std::string>(),
                       result.at("reason").at("now").get<std::string>()) +
           build;
  }
  const Json& resumed = result.at("resumed");
  const auto first = resumed.at("iteration").get<std::int64_t>();
  const auto count = static_cast<std::int64_t>(resumed.at("losses").size());
  const std::string last = steps_words(first + count - 1, 1);
  std::string text;
  for (const auto& change : resumed.at("changes")) {
    text += fmt::format("changed before step {}: from {} to {}\n", change.at("iteration").get<std::int64_t>(),
                        identity_words(change.at("from")), identity_words(change.at("to")));
  }
  if (resumed.at("scaler") == "anew") text += "The gradient scaler starts anew.\n";
  text += fmt::format("{}, from {}: {}\n", steps_words(first, count), folder,
                      compared_words(result, first, count));
  text += fmt::format("loss of {}: {}{}\n", last, loss_words(resumed.at("losses").back()),
                      same_words(result, "same_loss"));
  if (resumed.contains("bad_step")) {
    text +=
        fmt::format("first bad step: {}\nfirst bad value: {}{}\n", resumed.at("bad_step").get<std::int64_t>(),
                    resumed.value("first_bad_in_words", "not found"), same_words(result, "same_first_bad"));
  }
  text += fmt::format("weights after {}: {}\n", last, resumed.at("weights").get<std::string>());
  if (resumed.contains("kept"))
    text += fmt::format("kept: digest {}\n", resumed.at("kept").get<std::string>());
  return text + build;
}

}  // namespace ampgate::driver
