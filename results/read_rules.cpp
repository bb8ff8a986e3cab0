#include <algorithm>
#include <limits>

#include "results/error.h"
#include "results/object_reader.h"
#include "results/pattern.h"
#include "results/rules.h"

namespace ampgate::results {
namespace {

constexpr double kTiny = std::numeric_limits<double>::min();  // lower end of "positive"
constexpr double kLargest = std::numeric_limits<double>::max();

void check_patterns(const ObjectReader& reader, const std::vector<std::string>& patterns) {
  if (patterns.empty()) {
    reader.fail("required", "is empty, so that no verdict could fail a run: name at least fp32");
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string& pattern = patterns[i];
    if (std::none_of(known_precisions().begin(), known_precisions().end(),
                     [&](const std::string& precision) { return matches(pattern, precision); })) {
      reader.fail("required",
                  "'" + pattern + "' matches no precision; " + suggestion(pattern, known_precisions()));
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

void read_flips(ObjectReader reader, Rules::FlipLimits& limits) {
  reader.read("flips", limits.flips, 0, 1);
  const auto read_kind = [&](const char* kind, double& limit) {
    reader.read(kind, limit, 0, 1);
    if (reader.has(kind) && limit > limits.flips) {
      reader.fail(kind, "contradicts flips, which counts these among others: it must not be larger");
    }
    limit = std::min(limit, limits.flips);
  };
  read_kind("explained", limits.explained);
  read_kind("tie_collapse", limits.tie_collapse);
  read_kind("defect", limits.defect);
  reader.refuse_unknown();
}

void read_decisions(ObjectReader reader, Rules::Decisions& decisions) {
  reader.read("tie_rule", decisions.tie_rule);
  const auto& known = tie_rules();
  if (std::find(known.begin(), known.end(), decisions.tie_rule) == known.end()) {
    reader.fail("tie_rule",
                "'" + decisions.tie_rule + "' is no tie rule; " + suggestion(decisions.tie_rule, known));
  }
  if (reader.has("ordinary")) read_flips(reader.object("ordinary"), decisions.ordinary);
  if (reader.has("boundary")) read_flips(reader.object("boundary"), decisions.boundary);
  reader.refuse_unknown();
}

void read_limit(ObjectReader& reader, const std::string& key, double low, std::optional<double>& target) {
  if (!reader.has(key)) return;
  double value = 0.0;
  reader.read(key, value, low, kLargest);
  target = value;
}

Rules::OutputRule read_output(ObjectReader& outputs, const std::string& name) {
  ObjectReader reader = outputs.object(name);
  Rules::OutputRule rule;
  read_limit(reader, "max_margin", kTiny, rule.max_margin);
  read_limit(reader, "max_relative_rms", 0, rule.max_relative_rms);
  read_limit(reader, "max_abs_error", 0, rule.max_abs_error);
  const bool limited = rule.max_margin || rule.max_relative_rms || rule.max_abs_error;
  const bool ignored = reader.has("ignore");
  reader.read("ignore", rule.ignore);
  reader.refuse_unknown();
  if (ignored && rule.ignore.find_first_not_of(' ') == std::string::npos) {
    reader.fail("ignore", "needs the reason why nobody looks at this output");
  }
  if (ignored && limited) {
    reader.fail("ignore", "contradicts the limits beside it: what is ignored keeps none");
  }
  if (!ignored && !limited) {
    outputs.fail(name, "holds no criterion: name max_margin, max_relative_rms, max_abs_error or ignore");
  }
  return rule;
}

void read_outputs(ObjectReader reader, std::map<std::string, Rules::OutputRule>& outputs) {
  outputs.clear();
  for (const std::string& name : reader.keys()) outputs[name] = read_output(reader, name);
}

void read_measurement(ObjectReader reader, Rules::Measurement& measurement) {
  reader.read("processes", measurement.processes, 1, 1000);
  reader.read("min_blocks", measurement.min_blocks, 6, 1000000);
  reader.read("cell_time_ms", measurement.cell_time_ms, 0.01, 3.6e6);
  reader.read("interval_level", measurement.interval_level, 0.5, 0.9999);
  reader.read("tolerance", measurement.tolerance, 0, 1);
  reader.read("sustained_s", measurement.sustained_s, 1, 86400);
  reader.refuse_unknown();
  if (measurement.min_blocks < measurement.processes) {
    reader.fail("min_blocks", "contradicts processes: every process needs a block");
  }
}

void read_training(ObjectReader reader, Rules::Training& training) {
  reader.read("updates", training.updates, 1, 1000000);
  reader.read("seeds", training.seeds, 1, 10000);
  reader.read("shadow_steps", training.shadow_steps, 1, 1000);
  reader.read("max_skipped_share", training.max_skipped_share, 0, 1);
  reader.read("max_consecutive_skips", training.max_consecutive_skips, 0, 1000000);
  reader.read("max_steps_to_first_update", training.max_steps_to_first_update, 1, 1000000);
  reader.read("min_scale", training.min_scale, 0, kLargest);
  reader.read("max_gradient_error", training.max_gradient_error, 0, 1);
  reader.read("max_zeroed_share", training.max_zeroed_share, 0, 1);
  reader.read("max_accuracy_loss", training.max_accuracy_loss, 0, 1);
  reader.read("max_rmse_ratio", training.max_rmse_ratio, 1, kLargest);
  reader.refuse_unknown();
}

Rules::Floors read_floors(ObjectReader& trials, const std::string& pattern) {
  ObjectReader reader = trials.object(pattern);
  Rules::Floors floors;
  read_limit(reader, "min_tflops", kTiny, floors.min_tflops);
  read_limit(reader, "min_gbps", kTiny, floors.min_gbps);
  read_limit(reader, "min_speedup_over_fp32", kTiny, floors.min_speedup_over_fp32);
  reader.refuse_unknown();
  if (!floors.min_tflops && !floors.min_gbps && !floors.min_speedup_over_fp32) {
    trials.fail(pattern, "holds no floor: name min_tflops, min_gbps or min_speedup_over_fp32");
  }
  return floors;
}

void read_targets(ObjectReader reader, std::map<std::string, std::map<std::string, Rules::Floors>>& targets) {
  targets.clear();
  for (const std::string& model : reader.keys()) {
    ObjectReader trials = reader.object(model);
    if (trials.keys().empty()) reader.fail(model, "holds no pattern of trials");
    for (const std::string& pattern : trials.keys()) targets[model][pattern] = read_floors(trials, pattern);
  }
}

void read_golden(ObjectReader reader, std::map<std::string, std::string>& golden) {
  golden.clear();
  for (const std::string& model : reader.keys()) {
    reader.read(model, golden[model]);
    if (golden[model].empty()) reader.fail(model, "must be the id of a record");
  }
}

void read_by_case(ObjectReader reader, std::map<std::string, double>& values, double high) {
  values.clear();
  for (const std::string& name : reader.keys()) reader.read(name, values[name], 0, high);
}

// That between sections, or between a section and the defaults. Limits for cases are checked where the cases
// are known.
void check_contradictions(const ObjectReader& reader, const Rules& rules) {
  if (rules.measurement.cell_time_ms >= rules.trial_limit_s * 1000) {
    reader.fail("trial_limit_s", "contradicts measurement/cell_time_ms: no cell could end in time");
  }
}

}  // namespace

Rules parse_rules(std::string_view text, const std::string& where) {
  const Json document = parse_strict(text, where);
  ObjectReader reader(document, where);
  Rules rules;
  int version = Rules::kVersion;
  reader.read("ampgate_rules", version, 1);
  if (version > Rules::kVersion) {
    reader.fail("ampgate_rules", "version " + std::to_string(version) + " is newer than this program's " +
                                     std::to_string(Rules::kVersion));
  }
  reader.read("name", rules.name);
  reader.read("required", rules.required);
  check_patterns(reader, rules.required);
  reader.read("unsupported_fails", rules.unsupported_fails);
  reader.read("suspect_opens_gate", rules.suspect_opens_gate);
  reader.read("maximum_accuracy_loss", rules.maximum_accuracy_loss, 0, 1);
  reader.read("maximum_rmse_ratio", rules.maximum_rmse_ratio, 1, kLargest);
  reader.read("repeats", rules.repeats, 1, 100000);
  reader.read("trial_limit_s", rules.trial_limit_s, kTiny, 1e6);
  reader.read("validation_limit_s", rules.validation_limit_s, kTiny, 1e6);
  if (reader.has("bounds")) read_bounds(reader.object("bounds"), rules.bounds);
  if (reader.has("decisions")) read_decisions(reader.object("decisions"), rules.decisions);
  if (reader.has("minimum_accuracy")) {
    read_by_case(reader.object("minimum_accuracy"), rules.minimum_accuracy, 1);
  }
  if (reader.has("maximum_rmse")) read_by_case(reader.object("maximum_rmse"), rules.maximum_rmse, kLargest);
  if (reader.has("outputs")) read_outputs(reader.object("outputs"), rules.outputs);
  if (reader.has("measurement")) {
    read_measurement(reader.object("measurement"), rules.measurement);
  }
  if (reader.has("training")) read_training(reader.object("training"), rules.training);
  if (reader.has("targets")) read_targets(reader.object("targets"), rules.targets);
  if (reader.has("golden")) read_golden(reader.object("golden"), rules.golden);
  reader.refuse_unknown();
  check_contradictions(reader, rules);
  return rules;
}

}  // namespace ampgate::results
