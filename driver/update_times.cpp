#include "driver/update_times.h"

#include <fmt/format.h>

#include <map>

#include "driver/columns.h"
#include "driver/names.h"
#include "driver/table.h"
#include "driver/words.h"

namespace ampgate::driver {
namespace {

using results::Json;

constexpr const char* kPerUpdate = "time_per_applied_update_ns";

// Null where the trial trains nothing or was not measured.
Json timed_training(const Json& trial) {
  return trial.value("measurement", Json::object()).value("training", Json());
}

std::string applied_words(const Json& training) {
  return fmt::format("{} of {}", training.at("applied_updates").get<std::int64_t>(),
                     training.at("iterations").get<std::int64_t>());
}

std::string ratio_with_interval(const Json& training, const char* key) {
  if (!training.contains(key)) return "-";
  const Json& ratio = training[key];
  std::string text = ratio_words(ratio.at("value").get<double>());
  if (!ratio.contains("interval")) return text;
  return text + fmt::format(" ({} to {})", ratio_words(ratio["interval"].at(0).get<double>()),
                            ratio_words(ratio["interval"].at(1).get<double>()));
}

// "10.1 ms in autocast-fp16 (3 of 1023 timed steps applied none)"
std::string update_words(const Json& trial, const Json& training) {
  const auto precision = trial.at("precision").get<std::string>();
  if (!training.contains(kPerUpdate)) return "no end of time in " + precision + ", which applied none";
  const std::string text = time_words(training[kPerUpdate].at("median").get<double>()) + " in " + precision;
  const auto iterations = training.at("iterations").get<std::int64_t>();
  const auto skipped = iterations - training.at("applied_updates").get<std::int64_t>();
  return skipped == 0 ? text
                      : text + fmt::format(" ({} of {} timed steps applied none)", skipped, iterations);
}

}  // namespace

std::string update_times_table(const Json& record, bool colour) {
  std::vector<std::vector<Cell>> rows;
  for (const auto& trial : record.at("trials")) {
    const Json training = timed_training(trial);
    if (training.is_null()) continue;
    rows.push_back({{trial.at("id").get<std::string>()},
                    {median_words(trial["measurement"], "time_ns")},
                    {training.contains(kPerUpdate) ? median_words(training, kPerUpdate) : "-"},
                    {applied_words(training)},
                    {ratio_with_interval(training, "speedup_over_fp32")},
                    {ratio_with_interval(training, "fp16_to_bf16")}});
  }
  if (rows.empty()) return "";
  return in_columns({{"training step"},
                     {"a step", true},
                     {"an applied update", true},
                     {"applied", true},
                     {"speed-up an update", true},
                     {"FP16's time / BF16's", true}},
                    rows, colour);
}

std::vector<std::string> update_times_words(const Json& record) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> updates;
  std::map<std::string, std::string> compared;
  for (const auto& trial : record.at("trials")) {
    const Json training = timed_training(trial);
    if (training.is_null() || trial["measurement"].at("verdict") == "ambiguous") continue;
    const auto name =
        trial.at("case").get<std::string>() + "/" + trial.at("shape").at("name").get<std::string>();
    if (!updates.contains(name)) names.push_back(name);
    updates[name].push_back(update_words(trial, training));
    if (training.contains("fp16_to_bf16"))
      compared[name] = "; " + training["fp16_to_bf16"].at("in_words").get<std::string>();
  }
  std::vector<std::string> sentences;
  for (const auto& name : names) {
    sentences.push_back(
        fmt::format("An applied update of {} takes {}{}.", name, join(updates[name], ", "), compared[name]));
  }
  return sentences;
}

}  // namespace ampgate::driver
