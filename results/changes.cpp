#include "results/changes.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>

#include "results/fairness.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

constexpr std::size_t kMostDecisions = 20;

Json object_at(const Json& parent, const char* key) {
  const auto found = parent.find(key);
  return found != parent.end() && found->is_object() ? *found : Json::object();
}

Json to_json(const Difference& difference) {
  Json json{{"field", difference.field}};
  if (!difference.a.is_null()) json["a"] = difference.a;
  if (!difference.b.is_null()) json["b"] = difference.b;
  return json;
}

// Of two objects only these members, or all of them.
Json differing(const Json& a, const Json& b, std::initializer_list<const char*> members = {}) {
  Json list = Json::array();
  for (const auto& difference : differences(a, b)) {
    const bool wanted =
        members.size() == 0 || std::any_of(members.begin(), members.end(), [&](const std::string member) {
          return (difference.field + "/").starts_with("/" + member + "/");
        });
    if (wanted) list.push_back(to_json(difference));
  }
  return list;
}

int rank_of(Verdict verdict) {
  if (verdict == Verdict::kPass) return 0;
  return verdict == Verdict::kSuspect ? 1 : 2;
}

Json verdict_change(const std::string& a, const std::string& b, int rank_a, int rank_b) {
  return {{"a", a}, {"b", b}, {"change", rank_b > rank_a ? "worse" : rank_b < rank_a ? "better" : "other"}};
}

void add_verdict(Json& result, const Json& trial_a, const Json& trial_b) {
  const auto a = trial_a.at("verdict").get<std::string>();
  const auto b = trial_b.at("verdict").get<std::string>();
  if (a != b) result["verdict"] = verdict_change(a, b, rank_of(verdict_from(a)), rank_of(verdict_from(b)));
}

// (input, id, position) -> what the trial decided, for the rows that its table shows.
std::map<std::string, Json> shown_decisions(const Json& decisions) {
  std::map<std::string, Json> shown;
  for (const auto& row : decisions.value("table", Json::array())) {
    shown[Json{row.value("input", ""), row.value("id", Json()), row.value("position", Json())}.dump()] = row;
  }
  return shown;
}

// A table holds every changed decision unless it says that some were left out: what it does not show was
// decided as the baseline did.
Json changed_decisions(const Json& a, const Json& b) {
  const auto in_a = shown_decisions(a);
  const auto in_b = shown_decisions(b);
  Json list = Json::array();
  const auto decided = [](const std::map<std::string, Json>& shown, const std::string& key,
                          const Json& decisions, const Json& other) -> Json {
    if (const auto row = shown.find(key); row != shown.end())
      return row->second.value("trial_decision", Json());
    return decisions.value("table_left_out", 0) == 0 ? other.value("baseline_decision", Json()) : Json();
  };
  const auto add = [&](const std::string& key, const Json& row) {
    const Json of_a = decided(in_a, key, a, row);
    const Json of_b = decided(in_b, key, b, row);
    if (list.size() == kMostDecisions || of_a == of_b || of_a.is_null() || of_b.is_null()) return;
    list.push_back(
        {{"input", row.value("input", "")}, {"id", row.value("id", Json())}, {"a", of_a}, {"b", of_b}});
  };
  for (const auto& [key, row] : in_a) add(key, row);
  for (const auto& [key, row] : in_b) {
    if (in_a.count(key) == 0) add(key, row);
  }
  return list;
}

Json only_in(const Json& some, const Json& others) {
  Json list = Json::array();
  for (const auto& entry : some) {
    if (std::find(others.begin(), others.end(), entry) == others.end()) list.push_back(entry);
  }
  return list;
}

// The share of the timed steps that applied an update; null where none were timed.
Json applied_share(const Json& trial) {
  const Json timed = object_at(object_at(trial, "measurement"), "training");
  const auto iterations = timed.value("iterations", std::int64_t{0});
  if (iterations == 0) return nullptr;
  return timed.at("applied_updates").get<double>() / static_cast<double>(iterations);
}

// What became of the training that was judged, and what was applied of the steps that were timed.
Json training_changes(const Json& trial_a, const Json& trial_b) {
  const Json a = object_at(trial_a, "training"), b = object_at(trial_b, "training");
  Json list = differing(a, b,
                        {"updates", "scaler", "applied", "skipped", "longest_skip", "first_applied", "scale",
                         "bad_step", "quality/mean_loss", "quality/outcome"});
  const Json share_a = applied_share(trial_a), share_b = applied_share(trial_b);
  if (!share_a.is_null() && !share_b.is_null() && share_a != share_b)
    list.push_back({{"field", "/measurement/training/applied_share"}, {"a", share_a}, {"b", share_b}});
  return list;
}

void add_operators(Json& result, const Json& trial_a, const Json& trial_b) {
  const Json a = trial_a.value("operators", Json::array());
  const Json b = trial_b.value("operators", Json::array());
  if (a.empty() || b.empty() || a == b) return;
  result["operators"] = {{"only_in_a", only_in(a, b)}, {"only_in_b", only_in(b, a)}};
}

}  // namespace

Json changes(const Json& trial_a, const Json& trial_b) {
  Json result = Json::object();
  const auto add = [&](const char* name, Json list) {
    if (!list.empty()) result[name] = std::move(list);
  };
  add_verdict(result, trial_a, trial_b);
  const Json accuracy_a = object_at(trial_a, "accuracy"), accuracy_b = object_at(trial_b, "accuracy");
  for (const auto* part : {"kernel_error", "precision_cost"}) {
    const Json list =
        differing(object_at(accuracy_a, part), object_at(accuracy_b, part),
                  {"margin", "max_abs_error", "max_ulp", "relative_rms_error", "rms_error", "bound"});
    for (Json entry : list) {
      entry["field"] = "/" + std::string(part) + entry["field"].get<std::string>();
      result["accuracy"].push_back(std::move(entry));
    }
  }
  const Json decisions_a = object_at(trial_a, "decisions"), decisions_b = object_at(trial_b, "decisions");
  add("decisions", differing(decisions_a, decisions_b,
                             {"flips", "explained", "defects", "tie_collapses", "lost",
                              "largest_flipped_margin", "same_action", "accuracy"}));
  if (!decisions_a.empty() && !decisions_b.empty()) {
    add("changed_decisions", changed_decisions(decisions_a, decisions_b));
  }
  add("regression", differing(object_at(decisions_a, "regression"), object_at(decisions_b, "regression")));
  add("training", training_changes(trial_a, trial_b));
  add_operators(result, trial_a, trial_b);
  const Json memory_a = object_at(object_at(trial_a, "measurement"), "memory");
  const Json memory_b = object_at(object_at(trial_b, "measurement"), "memory");
  if (!memory_a.empty() && !memory_b.empty()) {
    add("memory", differing(memory_a, memory_b, {"peak_bytes", "allocations"}));
  }
  return result;
}

Json measurement_change(const Json& measured_a, const Json& measured_b) {
  const auto a = measured_a.at("verdict").get<std::string>();
  const auto b = measured_b.at("verdict").get<std::string>();
  if (a == b) return nullptr;
  const auto rank = [](const std::string& word) {
    return carries_numbers(measurement_verdict_from(word)) ? 0 : 1;
  };
  return verdict_change(a, b, rank(a), rank(b));
}

}  // namespace ampgate::results
