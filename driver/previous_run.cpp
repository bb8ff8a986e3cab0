#include "driver/previous_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/names.h"
#include "results/error.h"
#include "results/record.h"
#include "results/relaxed_rules.h"

namespace ampgate::driver {
namespace {

namespace fs = std::filesystem;
using results::Json;

// Newest first: records are named by the time at which they began.
std::vector<fs::path> records_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end(), std::greater<>());
  return files;
}

std::string value_words(const Json& change, const char* key, const char* otherwise) {
  return change.contains(key) ? results::to_text(change.at(key)) : otherwise;
}

}  // namespace

std::vector<std::string> compare_with_previous_run(Json& record, const results::Rules& rules,
                                                   const fs::path& folder) {
  std::vector<std::string> warnings;
  const std::string device = record.at("device").value("uuid", "");
  if (device.empty()) return warnings;
  for (const auto& file : records_in(folder)) {
    try {
      const Json previous = results::read_record(file.string());
      if (previous.at("device").value("uuid", "") != device || previous.at("id") == record.at("id")) continue;
      const auto before = results::parse_rules(previous.at("rules").dump(), file.string() + ": /rules");
      record["rules_previous"] = {{"record", previous.at("id")},
                                  {"rules_sha256", results::rules_digest(before)}};
      record["rules_relaxed"] = results::relaxed_rules(before, rules);
      return warnings;
    } catch (const results::Error& error) {
      warnings.push_back(fmt::format("left out when looking for the previous run's rules: {}", error.what()));
    }
  }
  return warnings;
}

std::string relaxed_words(const Json& record) {
  const Json relaxed = record.value("rules_relaxed", Json::array());
  if (relaxed.empty()) return {};
  std::vector<std::string> changes;
  for (const auto& change : relaxed) {
    changes.push_back(fmt::format("{} from {} to {}", change.at("rule").get<std::string>(),
                                  value_words(change, "before", "no limit"),
                                  value_words(change, "now", "no limit")));
  }
  return fmt::format("Rules relaxed since the record {}: {}.",
                     record.at("rules_previous").at("record").get<std::string>(), join(changes, "; "));
}

}  // namespace ampgate::driver
