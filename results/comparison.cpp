#include "results/comparison.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/changes.h"
#include "results/compared_times.h"
#include "results/fairness.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

// Both trials of one id, and what was found out about them so far.
struct Pair {
  const Json* a;
  const Json* b;
  Json result;
  std::vector<Sample> samples_a{}, samples_b{};
};

std::map<std::string, const Json*> by_id(const Json& record) {
  std::map<std::string, const Json*> trials;
  for (const auto& trial : record.at("trials")) trials[trial.at("id").get<std::string>()] = &trial;
  return trials;
}

Json which(const Json& record) {
  Json json;
  for (const auto* key : {"id", "digest"}) json[key] = record.at(key);
  json["device"] = record.at("device").at("name");
  if (record["device"].contains("model")) json["model"] = record["device"]["model"];
  return json;
}

// Why a trial has no samples; empty where it has.
std::string unmeasured(const Json& trial, const char* name) {
  const std::string side = name;
  if (!trial.contains("measurement")) return side + " did not measure it";
  const auto verdict = trial.at("measurement").at("verdict").get<std::string>();
  if (carries_numbers(measurement_verdict_from(verdict))) return {};
  return side + "'s measurement is " + verdict;
}

void refuse(Pair& pair, const Difference& difference) {
  pair.result["refused"] = {{"field", difference.field}, {"in_words", difference.words()}};
  if (!difference.a.is_null()) pair.result["refused"]["a"] = difference.a;
  if (!difference.b.is_null()) pair.result["refused"]["b"] = difference.b;
}

void look_at(Pair& pair, const std::optional<Difference>& whole) {
  if (auto difference = whole ? whole : unfair_trial(*pair.a, *pair.b)) return refuse(pair, *difference);
  pair.result.update(changes(*pair.a, *pair.b));
  const std::string in_a = unmeasured(*pair.a, "A"), in_b = unmeasured(*pair.b, "B");
  if (!in_a.empty() || !in_b.empty()) {
    pair.result["absent"] = {{"time", in_a + (in_a.empty() || in_b.empty() ? "" : "; ") + in_b}};
    return;
  }
  pair.samples_a = recorded_samples(pair.a->at("measurement"));
  pair.samples_b = recorded_samples(pair.b->at("measurement"));
}

bool has_samples(const Pair& pair) { return !pair.samples_a.empty() && !pair.samples_b.empty(); }

void compare_times(std::vector<Pair>& pairs, double tolerance) {
  std::size_t comparisons = 0;
  for (const auto& pair : pairs) {
    if (has_samples(pair) && unpaired_ratio(pair.samples_b, pair.samples_a, 0.95).interval) ++comparisons;
  }
  const double level = simultaneous_level(kFalseSlower, std::max<std::size_t>(comparisons, 1));
  for (auto& pair : pairs) {
    if (has_samples(pair))
      pair.result["time"] = compared_times(pair.samples_a, pair.samples_b, level, tolerance);
  }
}

Json summary(const std::vector<Pair>& pairs) {
  Json counts{{"trials", pairs.size()},
              {"refused", 0},
              {"worse", 0},
              {"better", 0},
              {"slower", 0},
              {"faster", 0},
              {"same", 0},
              {"ambiguous", 0},
              {"measured_by_one", 0}};
  const auto count = [&](const std::string& what) { counts[what] = counts[what].get<int>() + 1; };
  for (const auto& pair : pairs) {
    const Json& result = pair.result;
    if (result.contains("refused")) count("refused");
    std::set<std::string> ways;
    for (const auto* key : {"verdict", "measurement_verdict"}) {
      if (result.contains(key)) ways.insert(result[key].at("change").get<std::string>());
    }
    if (ways.count("worse") != 0) {
      count("worse");
    } else if (ways.count("better") != 0) {
      count("better");
    }
    if (result.contains("time")) count(result["time"].at("verdict").get<std::string>());
    if (!result.contains("refused") && pair.a->contains("measurement") != pair.b->contains("measurement"))
      count("measured_by_one");
  }
  return counts;
}

}  // namespace

Json compare_records(const Json& record_a, const Json& record_b) {
  Json result{{"ampgate_comparison", 1}, {"a", which(record_a)}, {"b", which(record_b)}};
  result["differences"] = Json::array();
  for (const auto& difference : different_makings(record_a, record_b)) {
    Json entry{{"field", difference.field}, {"in_words", difference.words()}};
    result["differences"].push_back(std::move(entry));
  }
  const auto in_a = by_id(record_a), in_b = by_id(record_b);
  const auto whole = unfair(record_a, record_b);
  std::vector<Pair> pairs;
  for (const auto& trial : record_a.at("trials")) {
    const auto id = trial.at("id").get<std::string>();
    const auto match = in_b.find(id);
    if (match == in_b.end()) {
      result["only_in_a"].push_back(id);
      continue;
    }
    pairs.push_back({&trial, match->second, {{"id", id}}});
    look_at(pairs.back(), whole);
  }
  for (const auto& trial : record_b.at("trials")) {
    if (in_a.count(trial.at("id").get<std::string>()) == 0) result["only_in_b"].push_back(trial.at("id"));
  }
  compare_times(pairs, record_a.at("rules").at("measurement").at("tolerance").get<double>());
  result["summary"] = summary(pairs);
  result["trials"] = Json::array();
  for (auto& pair : pairs) result["trials"].push_back(std::move(pair.result));
  return result;
}

}  // namespace ampgate::results
