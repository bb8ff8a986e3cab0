#include "driver/islands.h"

#include <fmt/format.h>

#include "driver/names.h"
#include "driver/words.h"

namespace ampgate::driver {

using results::Json;

std::vector<std::string> remedies(const Json& record) {
  std::vector<std::string> sentences;
  for (const auto& trial : record.at("trials")) {
    const Json islands = trial.value("islands", Json::object());
    if (!islands.value("healed", false)) continue;
    const auto regions = islands.at("regions").get<std::vector<std::string>>();
    const auto ratio = trial.value(Json::json_pointer("/measurement/speedup_over_fp32/value"), 0.0);
    sentences.push_back(fmt::format(
        "{}/{} needs {} of {} regions in FP32 to run in {}: {}{}.", trial.at("case").get<std::string>(),
        trial.at("shape").at("name").get<std::string>(), regions.size(), islands.at("all_regions").size(),
        trial.at("precision") == "islands-fp16" ? "FP16" : "BF16", join(regions, ", "),
        ratio > 0 ? fmt::format(", at {} times fp32's speed", ratio_words(ratio)) : std::string()));
  }
  return sentences;
}

}  // namespace ampgate::driver
