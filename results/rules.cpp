#include "results/rules.h"

#include <algorithm>
#include <utility>

#include "results/pattern.h"

namespace ampgate::results {
namespace {

Json by_case(const std::map<std::string, double>& values) {
  Json result = Json::object();
  for (const auto& [name, value] : values) result[name] = value;
  return result;
}

Json flips_json(const Rules::FlipLimits& limits) {
  return {{"flips", limits.flips},
          {"explained", limits.explained},
          {"tie_collapse", limits.tie_collapse},
          {"defect", limits.defect}};
}

Json outputs_json(const std::map<std::string, Rules::OutputRule>& outputs) {
  Json result = Json::object();
  for (const auto& [name, rule] : outputs) {
    Json& entry = result[name] = Json::object();
    if (rule.max_margin) entry["max_margin"] = *rule.max_margin;
    if (rule.max_relative_rms) entry["max_relative_rms"] = *rule.max_relative_rms;
    if (rule.max_abs_error) entry["max_abs_error"] = *rule.max_abs_error;
    if (!rule.ignore.empty()) entry["ignore"] = rule.ignore;
  }
  return result;
}

Json targets_json(const std::map<std::string, std::map<std::string, Rules::Floors>>& targets) {
  Json result = Json::object();
  for (const auto& [model, trials] : targets) {
    for (const auto& [trial, floors] : trials) {
      Json& entry = result[model][trial] = Json::object();
      if (floors.min_tflops) entry["min_tflops"] = *floors.min_tflops;
      if (floors.min_gbps) entry["min_gbps"] = *floors.min_gbps;
      if (floors.min_speedup_over_fp32) entry["min_speedup_over_fp32"] = *floors.min_speedup_over_fp32;
    }
  }
  return result;
}

Json golden_json(const std::map<std::string, std::string>& golden) {
  Json result = Json::object();
  for (const auto& [model, record] : golden) result[model] = record;
  return result;
}

}  // namespace

Json to_json(const Rules& rules) {
  return {{"ampgate_rules", Rules::kVersion},
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
            {"ordinary", flips_json(rules.decisions.ordinary)},
            {"boundary", flips_json(rules.decisions.boundary)}}},
          {"minimum_accuracy", by_case(rules.minimum_accuracy)},
          {"maximum_rmse", by_case(rules.maximum_rmse)},
          {"maximum_accuracy_loss", rules.maximum_accuracy_loss},
          {"maximum_rmse_ratio", rules.maximum_rmse_ratio},
          {"outputs", outputs_json(rules.outputs)},
          {"repeats", rules.repeats},
          {"trial_limit_s", rules.trial_limit_s},
          {"validation_limit_s", rules.validation_limit_s},
          {"measurement",
           {{"processes", rules.measurement.processes},
            {"min_blocks", rules.measurement.min_blocks},
            {"cell_time_ms", rules.measurement.cell_time_ms},
            {"interval_level", rules.measurement.interval_level},
            {"tolerance", rules.measurement.tolerance},
            {"sustained_s", rules.measurement.sustained_s}}},
          {"training",
           {{"updates", rules.training.updates},
            {"seeds", rules.training.seeds},
            {"shadow_steps", rules.training.shadow_steps},
            {"max_skipped_share", rules.training.max_skipped_share},
            {"max_consecutive_skips", rules.training.max_consecutive_skips},
            {"max_steps_to_first_update", rules.training.max_steps_to_first_update},
            {"min_scale", rules.training.min_scale},
            {"max_gradient_error", rules.training.max_gradient_error},
            {"max_zeroed_share", rules.training.max_zeroed_share},
            {"max_accuracy_loss", rules.training.max_accuracy_loss},
            {"max_rmse_ratio", rules.training.max_rmse_ratio}}},
          {"targets", targets_json(rules.targets)},
          {"golden", golden_json(rules.golden)}};
}

bool is_required(const Rules& rules, std::string_view precision) {
  return std::any_of(rules.required.begin(), rules.required.end(),
                     [&](const std::string& pattern) { return matches(pattern, precision); });
}

std::string golden_record(const Rules& rules, const std::string& model) {
  const std::pair<const std::string, std::string>* longest = nullptr;
  for (const auto& entry : rules.golden) {
    const bool longer = longest == nullptr || entry.first.size() > longest->first.size();
    if (matches(entry.first, model) && longer) longest = &entry;
  }
  return longest == nullptr ? std::string() : longest->second;
}

const Rules::OutputRule* output_rule(const Rules& rules, const std::string& case_name,
                                     const std::string& output) {
  auto found = rules.outputs.find(case_name + "/" + output);
  if (found == rules.outputs.end()) found = rules.outputs.find(case_name);
  return found == rules.outputs.end() ? nullptr : &found->second;
}

const std::vector<std::string>& tie_rules() {
  static const std::vector<std::string> rules{"lowest-index", "highest-index", "reject"};
  return rules;
}

const std::vector<std::string>& known_precisions() {
  // All that any worker offers. One that this device lacks may be required: `unsupported_fails`.
  static const std::vector<std::string> precisions{"fp32",      "tf32",      "autocast-fp16", "autocast-bf16",
                                                   "cast-fp16", "cast-bf16", "islands-fp16",  "islands-bf16"};
  return precisions;
}

}  // namespace ampgate::results
