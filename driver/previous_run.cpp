#include "driver/previous_run.h"

#include <fmt/format.h>

#include "driver/names.h"
#include "results/archive.h"
#include "results/error.h"
#include "results/record.h"
#include "results/relaxed_rules.h"

namespace ampgate::driver {
namespace {

using results::Json;

std::string value_words(const Json& change, const char* key, const char* otherwise) {
  return change.contains(key) ? results::to_text(change.at(key)) : otherwise;
}

}  // namespace

std::vector<std::string> compare_with_previous_run(Json& record, const results::Rules& rules,
                                                   const std::filesystem::path& device_folder) {
  std::vector<std::string> warnings;
  const std::string device = record.at("device").value("uuid", "");
  if (device.empty()) return warnings;
  try {
    const results::Archive archive(device_folder.parent_path());
    const auto previous = archive.newest(
        [&](const Json& summary) {
          return summary.at("device").value("uuid", "") == device && summary.at("id") != record.at("id");
        },
        [&](const results::ArchivedFile& file) {
          warnings.push_back("left out when looking for the previous run's rules: " + file.problem);
        },
        device_folder.filename());
    if (!previous) return warnings;
    const std::string place = archive.place(*previous).string();
    const Json before = results::read_record(place);
    const auto its_rules = results::parse_rules(before.at("rules").dump(), place + ": /rules");
    record["rules_previous"] = {{"record", before.at("id")},
                                {"rules_sha256", results::rules_digest(its_rules)}};
    record["rules_relaxed"] = results::relaxed_rules(its_rules, rules);
  } catch (const results::Error& error) {  // nothing of this run may be lost for it
    warnings.push_back(fmt::format("the previous run's rules are not known: {}", error.what()));
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
