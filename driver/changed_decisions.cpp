#include "driver/changed_decisions.h"

#include <fmt/format.h>

#include "driver/names.h"

namespace ampgate::driver {
namespace {

using results::Json;

constexpr std::size_t kMostLines = 12;

std::string number_words(const Json& value) {
  return value.is_number() ? fmt::format("{:.3g}", value.get<double>()) : results::to_text(value);
}

// "17 explained by rounding, 2 defects"
std::string kinds(const Json& decisions) {
  std::vector<std::string> words;
  const auto add = [&](const char* key, const char* what) {
    const auto count = decisions.value(key, 0);
    if (count > 0) words.push_back(fmt::format("{} {}", count, what));
  };
  add("explained", "explained by rounding");
  add("tie_collapses", "by scores that became equal");
  add("defects", "that rounding does not explain");
  add("lost", "lost to a NaN");
  return join(words, ", ");
}

// "id 17 from 3 to 8, margin 0.002": the first flip of the table, which holds the heaviest first.
std::string example(const Json& decisions) {
  for (const auto& row : decisions.value("table", Json::array())) {
    if (row.at("input") != "ordinary" || row.at("effect") == "unchanged") continue;
    return fmt::format("; id {} from {} to {}, margin {}", row.at("id").dump(),
                       results::to_text(row.at("baseline_decision")),
                       results::to_text(row.at("trial_decision")), number_words(row.at("margin")));
  }
  return {};
}

std::string line(const Json& trial) {
  const Json decisions = trial.value("decisions", Json::object());
  const int changed = decisions.value("flips", 0) + decisions.value("lost", 0);
  const Json::json_pointer largest("/boundary/largest_flipped_margin");
  std::string text;
  if (changed > 0) {
    text = fmt::format("{} of {} decisions changed ({}){}", changed, decisions.value("rows", 0),
                       kinds(decisions), example(decisions));
  }
  if (decisions.contains(largest)) {
    if (!text.empty()) text += "; ";
    text += fmt::format("near the boundary up to a margin of {}", number_words(decisions.at(largest)));
  }
  return text.empty() ? text : trial.at("id").get<std::string>() + ": " + text;
}

}  // namespace

std::vector<std::string> changed_decisions(const Json& record) {
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const auto& trial : record.at("trials")) {
    std::string text = line(trial);
    if (text.empty()) continue;
    if (lines.size() == kMostLines) {
      ++more;
    } else {
      lines.push_back(std::move(text));
    }
  }
  if (more > 0) lines.push_back(fmt::format("and {} more, in the record", more));
  return lines;
}

}  // namespace ampgate::driver
