#include "results/rules.h"

#include <algorithm>
#include <limits>

#include "results/error.h"
#include "results/object_reader.h"

namespace ampgate::results {
namespace {

constexpr int kRulesVersion = 1;
constexpr double kTiny = std::numeric_limits<double>::min();  // lower end of "positive"
constexpr double kLargest = std::numeric_limits<double>::max();

bool matches(std::string_view pattern, std::string_view word) {
  if (pattern.empty()) return word.empty();
  if (pattern.front() == '*') {
    return matches(pattern.substr(1), word) || (!word.empty() && matches(pattern, word.substr(1)));
  }
  return !word.empty() && pattern.front() == word.front() && matches(pattern.substr(1), word.substr(1));
}

// All that any worker offers. One that this device lacks may be required all the same: `unsupported_fails`.
const std::vector<std::string> kPrecisions{"fp32",      "tf32",      "autocast-fp16", "autocast-bf16",
                                           "cast-fp16", "cast-bf16", "islands-fp16",  "islands-bf16"};

void check_patterns(const ObjectReader& reader, const std::vector<std::string>& patterns) {
  if (patterns.empty()) {
    reader.fail("required", "is empty, so that no verdict could fail a run: name at least fp32");
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string& pattern = patterns[i];
    if (std::none_of(kPrecisions.begin(), kPrecisions.end(),
                     [&](const std::string& precision) { return matches(pattern, precision); })) {
      reader.fail("required", "'" + pattern + "' matches no precision; " + suggestion(pattern, kPrecisions));
    }
    if (std::find(patterns.begin(), patterns.begin() + static_cast<std::ptrdiff_t>(i), pattern) !=
        patterns.begin() + static_cast<std::ptrdiff_t>(i)) {
      reader.fail("required", "'" + pattern + "' stands there twice");
    }
  }
}

void read_bounds(ObjectReader reader, Rules::Bounds& bounds) {
  reader.read("lambda", bounds.lambda, kTiny, 100);
  reader.read("c", bounds.c, 0, 1e6);
  reader.read("ill_conditioned", bounds.ill_conditioned, kTiny, kLargest);
  reader.read("error_ratio", bounds.error_ratio, 1, kLargest);
  reader.read("model_ratio", bounds.model_ratio, 1, kLargest);
  reader.read("replay_runs", bounds.replay_runs, 2, 100000);
  reader.read("flip_deviations", bounds.flip_deviations, kTiny, 100);
  reader.refuse_unknown();
}

void read_decisions(ObjectReader reader, Rules::Decisions& decisions) {
  reader.read("tie_rule", decisions.tie_rule);
  if (decisions.tie_rule != "lowest-index" && decisions.tie_rule != "reject") {
    reader.fail("tie_rule", "must be \"lowest-index\" or \"reject\", is \"" + decisions.tie_rule + "\"");
  }
  reader.read("max_flips", decisions.max_flips, 0, 1);
  reader.read("max_defects", decisions.max_defects, 0, 1);
  reader.refuse_unknown();
  if (decisions.max_defects > decisions.max_flips) {
    reader.fail("max_defects", "contradicts max_flips: a defect is a flip, so it must not be larger");
  }
}

void read_measurement(ObjectReader reader, Rules::Measurement& measurement) {
  reader.read("processes", measurement.processes, 1, 1000);
  reader.read("min_blocks", measurement.min_blocks, 6, 1000000);
  reader.read("cell_time_ms", measurement.cell_time_ms, kTiny, 3.6e6);
  reader.read("interval_level", measurement.interval_level, 0.5, 0.9999);
  reader.read("tolerance", measurement.tolerance, 0, 1);
  reader.refuse_unknown();
  if (measurement.min_blocks < measurement.processes) {
    reader.fail("min_blocks", "contradicts processes: every process needs a block");
  }
}

void read_by_case(ObjectReader reader, std::map<std::string, double>& values, double high) {
  values.clear();
  for (const std::string& name : reader.keys()) reader.read(name, values[name], 0, high);
}

// Those that can arise between sections, or between a section and the defaults.
void check_contradictions(const ObjectReader& reader, const Rules& rules) {
  if (rules.measurement.cell_time_ms >= rules.trial_limit_s * 1000) {
    reader.fail("trial_limit_s", "contradicts measurement/cell_time_ms: no cell could end in time");
  }
  for (const auto& [name, value] : rules.minimum_accuracy) {
    if (rules.maximum_rmse.contains(name)) {
      reader.fail("maximum_rmse",
                  "contradicts minimum_accuracy: '" + name + "' gives scores or values, not both");
    }
  }
}

Json by_case(const std::map<std::string, double>& values) {
  Json result = Json::object();
  for (const auto& [name, value] : values) result[name] = value;
  return result;
}

}  // namespace

Rules parse_rules(std::string_view text, const std::string& where) {
  const Json document = parse_strict(text, where);
  ObjectReader reader(document, where);
  Rules rules;
  int version = kRulesVersion;
  reader.read("ampgate_rules", version, 1);
  if (version > kRulesVersion) {
    reader.fail("ampgate_rules", "version " + std::to_string(version) + " is newer than this program's " +
                                     std::to_string(kRulesVersion));
  }
  reader.read("name", rules.name);
  reader.read("required", rules.required);
  check_patterns(reader, rules.required);
  reader.read("unsupported_fails", rules.unsupported_fails);
  reader.read("suspect_opens_gate", rules.suspect_opens_gate);
  reader.read("maximum_accuracy_loss", rules.maximum_accuracy_loss, 0, 1);
  reader.read("maximum_rmse_ratio", rules.maximum_rmse_ratio, 1, kLargest);
  reader.read("trial_limit_s", rules.trial_limit_s, kTiny, 1e6);
  if (reader.has("bounds")) read_bounds(reader.object("bounds"), rules.bounds);
  if (reader.has("decisions")) read_decisions(reader.object("decisions"), rules.decisions);
  if (reader.has("minimum_accuracy")) {
    read_by_case(reader.object("minimum_accuracy"), rules.minimum_accuracy, 1);
  }
  if (reader.has("maximum_rmse")) read_by_case(reader.object("maximum_rmse"), rules.maximum_rmse, kLargest);
  if (reader.has("measurement")) {
    read_measurement(reader.object("measurement"), rules.measurement);
  }
  reader.refuse_unknown();
  check_contradictions(reader, rules);
  return rules;
}

Json to_json(const Rules& rules) {
  return {{"ampgate_rules", kRulesVersion},
          {"name", rules.name},
          {"required", rules.required},
          {"unsupported_fails", rules.unsupported_fails},
          {"suspect_opens_gate", rules.suspect_opens_gate},
          {"bounds",
           {{"lambda", rules.bounds.lambda},
            {"c", rules.bounds.c},
            {"ill_conditioned", rules.bounds.ill_conditioned},
            {"error_ratio", rules.bounds.error_ratio},
            {"model_ratio", rules.bounds.model_ratio},
            {"replay_runs", rules.bounds.replay_runs},
            {"flip_deviations", rules.bounds.flip_deviations}}},
          {"decisions",
           {{"tie_rule", rules.decisions.tie_rule},
            {"max_flips", rules.decisions.max_flips},
            {"max_defects", rules.decisions.max_defects}}},
          {"minimum_accuracy", by_case(rules.minimum_accuracy)},
          {"maximum_rmse", by_case(rules.maximum_rmse)},
          {"maximum_accuracy_loss", rules.maximum_accuracy_loss},
          {"maximum_rmse_ratio", rules.maximum_rmse_ratio},
          {"trial_limit_s", rules.trial_limit_s},
          {"measurement",
           {{"processes", rules.measurement.processes},
            {"min_blocks", rules.measurement.min_blocks},
            {"cell_time_ms", rules.measurement.cell_time_ms},
            {"interval_level", rules.measurement.interval_level},
            {"tolerance", rules.measurement.tolerance}}}};
}

bool is_required(const Rules& rules, std::string_view precision) {
  return std::any_of(rules.required.begin(), rules.required.end(),
                     [&](const std::string& pattern) { return matches(pattern, precision); });
}

}  // namespace ampgate::results
