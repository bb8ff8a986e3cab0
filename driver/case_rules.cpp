#include "driver/case_rules.h"

#include <algorithm>

#include "driver/names.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

using results::Json;

using Section = Json::json_pointer;

[[noreturn]] void fail(const std::string& file, const Section& section, const std::string& name,
                       const std::string& what, const std::string& action) {
  const auto pointer = section / name;
  throw results::FileError(file + "#" + pointer.to_string(), what, action);
}

void check_quality(const std::string& key, const std::string& quality,
                   const std::map<std::string, double>& limits, const Manifest& manifest,
                   const std::string& file) {
  const Section section("/" + key);
  std::vector<std::string> models;
  for (const auto& info : manifest.cases) {
    const auto& known = info.quality;
    if (std::find(known.begin(), known.end(), quality) != known.end()) models.push_back(info.name);
  }
  for (const auto& [name, limit] : limits) {
    if (std::find(models.begin(), models.end(), name) != models.end()) continue;
    if (models.empty()) fail(file, section, name, "no case here has an " + quality, "leave it out");
    fail(file, section, name, "'" + name + "' is no case that has an " + quality, suggest(name, models));
  }
}

const CaseInfo& find_case(const std::string& name, const std::string& key, const Manifest& manifest,
                          const std::string& file) {
  std::vector<std::string> names;
  for (const auto& info : manifest.cases) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  fail(file, Section("/outputs"), key, "no case is called '" + name + "'", suggest(name, names));
}

void check_outputs(const results::Rules& rules, const Manifest& manifest, const std::string& file) {
  for (const auto& [key, rule] : rules.outputs) {
    const auto slash = key.find('/');
    const CaseInfo& info = find_case(key.substr(0, slash), key, manifest, file);
    const auto& outputs = info.outputs;
    if (slash != std::string::npos &&
        std::find(outputs.begin(), outputs.end(), key.substr(slash + 1)) == outputs.end()) {
      fail(file, Section("/outputs"), key,
           "case " + info.name + " has no output '" + key.substr(slash + 1) + "'",
           suggest(key.substr(slash + 1), outputs));
    }
    const bool all_ignored = std::all_of(outputs.begin(), outputs.end(), [&](const std::string& output) {
      const auto* in_force = results::output_rule(rules, info.name, output);
      return in_force != nullptr && !in_force->ignore.empty();
    });
    if (all_ignored) {
      fail(file, Section("/outputs"), key,
           "with this every output of case " + info.name + " is ignored: a pass would say nothing",
           "judge one of them at least");
    }
  }
}

// A pattern's first part names cases and its last one precisions; what is between are shapes, of the user's
// own as well.
void check_targets(const results::Rules& rules, const Manifest& manifest, const std::string& file) {
  std::vector<std::string> names;
  for (const auto& info : manifest.cases) names.push_back(info.name);
  const auto any = [](const std::string& pattern, const std::vector<std::string>& known) {
    return std::any_of(known.begin(), known.end(),
                       [&](const std::string& name) { return matches(pattern, name); });
  };
  for (const auto& [model, trials] : rules.targets) {
    const Section section = Section("/targets") / model;
    for (const auto& [pattern, floors] : trials) {
      const std::string in_case = pattern.substr(0, pattern.find('/'));
      const std::string precision = pattern.substr(pattern.rfind('/') + 1);
      const bool whole = pattern.find('/') == std::string::npos;
      if (!any(in_case, names)) {
        fail(file, section, pattern, "the pattern matches no trial: no case is called '" + in_case + "'",
             suggest(in_case, names));
      }
      if (!whole && !any(precision, manifest.precisions)) {
        fail(file, section, pattern,
             "the pattern matches no trial: no precision is called '" + precision + "'",
             suggest(precision, manifest.precisions));
      }
      if (whole && in_case.find('*') == std::string::npos) {
        fail(file, section, pattern, "the pattern matches no trial: ids are case/shape/precision",
             "write " + pattern + "/*");
      }
    }
  }
}

}  // namespace

void check_case_rules(const results::Rules& rules, const Manifest& manifest, const std::string& file) {
  check_quality("minimum_accuracy", "accuracy", rules.minimum_accuracy, manifest, file);
  check_quality("maximum_rmse", "rmse", rules.maximum_rmse, manifest, file);
  check_outputs(rules, manifest, file);
  check_targets(rules, manifest, file);
}

}  // namespace ampgate::driver
