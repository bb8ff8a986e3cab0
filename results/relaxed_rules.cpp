#include "results/relaxed_rules.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

namespace ampgate::results {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool accepts_more(Relaxed direction, const Json& before, const Json& now) {
  switch (direction) {
    case Relaxed::kByMore:
      return now.get<double>() > before.get<double>();
    case Relaxed::kByLess:
      return now.get<double>() < before.get<double>();
    case Relaxed::kByTrue:
      return now.get<bool>() && !before.get<bool>();
    case Relaxed::kByFalse:
      return before.get<bool>() && !now.get<bool>();
    case Relaxed::kNever:
    case Relaxed::kByEntries:
      return false;
  }
  return false;
}

bool drops_a_required_precision(const Rules& before, const Rules& now) {
  return std::any_of(known_precisions().begin(), known_precisions().end(), [&](const auto& precision) {
    return is_required(before, precision) && !is_required(now, precision);
  });
}

void add(Json& list, const Json::json_pointer& rule, const Json& before, const Json& now) {
  Json entry{{"rule", rule.to_string()}};
  if (!before.is_null()) entry["before"] = before;
  if (!now.is_null()) entry["now"] = now;
  list.push_back(std::move(entry));
}

// Limits by case: one that went, or moved in the looser direction.
void compare_limits(Json& list, const std::string& key, const std::map<std::string, double>& before,
                    const std::map<std::string, double>& now, bool higher_is_looser) {
  for (const auto& [name, value] : before) {
    const auto found = now.find(name);
    const Json::json_pointer rule = Json::json_pointer("/" + key) / name;
    if (found == now.end()) {
      add(list, rule, value, {});
    } else if (higher_is_looser ? found->second > value : found->second < value) {
      add(list, rule, value, found->second);
    }
  }
}

void compare_limit(Json& list, const Json::json_pointer& rule, const std::optional<double>& before,
                   const std::optional<double>& now, double otherwise) {
  if (!(now.value_or(otherwise) > before.value_or(otherwise))) return;
  add(list, rule, before ? Json(*before) : Json(), now ? Json(*now) : Json());
}

// The rule that holds for a key: its own, else its case's.
Rules::OutputRule in_force(const Rules& rules, const std::string& key) {
  const auto slash = key.find('/');
  const auto* rule = slash == std::string::npos
                         ? output_rule(rules, key, "")
                         : output_rule(rules, key.substr(0, slash), key.substr(slash + 1));
  return rule == nullptr ? Rules::OutputRule{} : *rule;
}

void compare_outputs(Json& list, const Rules& before, const Rules& now) {
  std::set<std::string> keys;
  for (const auto& [key, rule] : before.outputs) keys.insert(key);
  for (const auto& [key, rule] : now.outputs) keys.insert(key);
  for (const auto& key : keys) {
    const auto old_rule = in_force(before, key);
    const auto new_rule = in_force(now, key);
    const Json::json_pointer pointer = Json::json_pointer("/outputs") / key;
    if (!old_rule.ignore.empty()) continue;  // nothing accepts more than not looking
    if (!new_rule.ignore.empty()) {
      add(list, pointer / "ignore", {}, new_rule.ignore);
      continue;
    }
    compare_limit(list, pointer / "max_margin", old_rule.max_margin, new_rule.max_margin, 1.0);
    compare_limit(list, pointer / "max_relative_rms", old_rule.max_relative_rms, new_rule.max_relative_rms,
                  kInfinity);
    compare_limit(list, pointer / "max_abs_error", old_rule.max_abs_error, new_rule.max_abs_error, kInfinity);
  }
}

// A floor that went, or is lower.
void compare_targets(Json& list, const Rules& before, const Rules& now) {
  const Json old_targets = to_json(before).at("targets");
  const Json new_targets = to_json(now).at("targets");
  for (const auto& [model, trials] : old_targets.items()) {
    for (const auto& [pattern, floors] : trials.items()) {
      for (const auto& [name, least] : floors.items()) {
        const Json::json_pointer pointer = Json::json_pointer() / model / pattern / name;
        const Json found = new_targets.contains(pointer) ? new_targets.at(pointer) : Json();
        if (found.is_null() || found < least)
          add(list, Json::json_pointer("/targets") / pointer, least, found);
      }
    }
  }
}

void compare_entries(Json& list, const std::string& pointer, const Rules& before, const Rules& now) {
  if (pointer == "/required" && drops_a_required_precision(before, now)) {
    add(list, Json::json_pointer(pointer), before.required, now.required);
  } else if (pointer == "/minimum_accuracy") {
    compare_limits(list, "minimum_accuracy", before.minimum_accuracy, now.minimum_accuracy, false);
  } else if (pointer == "/maximum_rmse") {
    compare_limits(list, "maximum_rmse", before.maximum_rmse, now.maximum_rmse, true);
  } else if (pointer == "/outputs") {
    compare_outputs(list, before, now);
  } else if (pointer == "/targets") {
    compare_targets(list, before, now);
  }
}

}  // namespace

const std::vector<std::pair<std::string, Relaxed>>& directions() {
  static const std::vector<std::pair<std::string, Relaxed>> table{
      {"/ampgate_rules", Relaxed::kNever},
      {"/name", Relaxed::kNever},
      {"/required", Relaxed::kByEntries},
      {"/unsupported_fails", Relaxed::kByFalse},
      {"/suspect_opens_gate", Relaxed::kByTrue},
      {"/bounds/lambda", Relaxed::kByMore},
      {"/bounds/c", Relaxed::kByMore},
      {"/bounds/ill_conditioned", Relaxed::kByLess},  // more elements are excused
      {"/bounds/error_ratio", Relaxed::kByMore},
      {"/bounds/model_ratio", Relaxed::kByMore},
      {"/bounds/replay_runs", Relaxed::kByLess},  // fewer runs say less
      {"/bounds/flip_deviations", Relaxed::kByMore},
      {"/decisions/tie_rule", Relaxed::kNever},
      {"/decisions/ordinary/flips", Relaxed::kByMore},
      {"/decisions/ordinary/explained", Relaxed::kByMore},
      {"/decisions/ordinary/tie_collapse", Relaxed::kByMore},
      {"/decisions/ordinary/defect", Relaxed::kByMore},
      {"/decisions/boundary/flips", Relaxed::kByMore},
      {"/decisions/boundary/explained", Relaxed::kByMore},
      {"/decisions/boundary/tie_collapse", Relaxed::kByMore},
      {"/decisions/boundary/defect", Relaxed::kByMore},
      {"/minimum_accuracy", Relaxed::kByEntries},
      {"/maximum_rmse", Relaxed::kByEntries},
      {"/maximum_accuracy_loss", Relaxed::kByMore},
      {"/maximum_rmse_ratio", Relaxed::kByMore},
      {"/outputs", Relaxed::kByEntries},
      {"/repeats", Relaxed::kByLess},
      {"/trial_limit_s", Relaxed::kByMore},
      {"/validation_limit_s", Relaxed::kByMore},
      {"/measurement/processes", Relaxed::kByLess},
      {"/measurement/min_blocks", Relaxed::kByLess},
      {"/measurement/cell_time_ms", Relaxed::kByLess},
      {"/measurement/interval_level", Relaxed::kByLess},
      {"/measurement/tolerance", Relaxed::kByMore},
      {"/measurement/sustained_s", Relaxed::kByLess},
      {"/training/updates", Relaxed::kByLess},
      {"/training/seeds", Relaxed::kByLess},
      {"/training/shadow_steps", Relaxed::kByLess},
      {"/training/max_skipped_share", Relaxed::kByMore},
      {"/training/max_consecutive_skips", Relaxed::kByMore},
      {"/training/max_steps_to_first_update", Relaxed::kByMore},
      {"/training/min_scale", Relaxed::kByLess},
      {"/training/max_gradient_error", Relaxed::kByMore},
      {"/training/max_zeroed_share", Relaxed::kByMore},
      {"/training/max_accuracy_loss", Relaxed::kByMore},
      {"/training/max_rmse_ratio", Relaxed::kByMore},
      {"/targets", Relaxed::kByEntries},
      {"/golden", Relaxed::kNever}};
  return table;
}

Json relaxed_rules(const Rules& before, const Rules& now) {
  const Json old_json = to_json(before);
  const Json new_json = to_json(now);
  Json list = Json::array();
  for (const auto& [rule, direction] : directions()) {
    const Json::json_pointer pointer(rule);
    if (direction == Relaxed::kByEntries) {
      compare_entries(list, rule, before, now);
    } else if (accepts_more(direction, old_json.at(pointer), new_json.at(pointer))) {
      add(list, pointer, old_json.at(pointer), new_json.at(pointer));
    }
  }
  return list;
}

}  // namespace ampgate::results
