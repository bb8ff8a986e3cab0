#include "results/comparison.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/changes.h"
#include "results/compared_times.h"
#include "results/fairness.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

// Samples of both records for one part of a trial's result: itself, or one of its modes.
struct Timed {
  std::size_t trial;
  std::string mode;  // empty: warm
  TimedPair pair;
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

// Why a measurement (null: there is none) has no samples to compare; empty where it has.
std::string unmeasured(const Json& measured, const std::string& side, const std::string& mode) {
  if (measured.is_null()) return side + " did not measure it";
  const auto verdict = measured.at("verdict").get<std::string>();
  if (!carries_numbers(measurement_verdict_from(verdict))) return side + "'s measurement is " + verdict;
  return recorded_samples(measured, mode).samples.empty() ? side + " has no samples that count" : "";
}

Json refusal(const Difference& difference) {
  Json refused{{"field", difference.field}, {"in_words", difference.words()}};
  if (!difference.a.is_null()) refused["a"] = difference.a;
  if (!difference.b.is_null()) refused["b"] = difference.b;
  return refused;
}

class Comparison {
 public:
  Comparison(const Json& record_a, const Json& record_b)
      : record_a_(record_a),
        record_b_(record_b),
        tolerance_(record_a.at("rules").at("measurement").at("tolerance").get<double>()) {}

  void add(const Json& trial_a, const Json& trial_b, const std::optional<Difference>& whole) {
    Json result{{"id", trial_a.at("id")}};
    if (const auto difference = whole ? whole : unfair_trial(trial_a, trial_b)) {
      result["refused"] = refusal(*difference);
    } else {
      result.update(changes(trial_a, trial_b));
      add_measured(result, trial_a.value("measurement", Json()), trial_b.value("measurement", Json()), "");
      add_variants(result, trial_a.value("variants", Json::object()),
                   trial_b.value("variants", Json::object()));
    }
    trials_.push_back(std::move(result));
  }

  // The trials' results, once all have been added: their intervals hold together.
  Json finish() {
    std::size_t comparisons = 0;
    for (const auto& timed : timed_) {
      if (time_ratio(timed.pair, 0.95).interval) ++comparisons;
    }
    const double level = simultaneous_level(kFalseSlower, std::max<std::size_t>(comparisons, 1));
    for (const auto& timed : timed_) {
      Json& trial = trials_[timed.trial];
      (timed.mode.empty() ? trial : trial["variants"][timed.mode])["time"] =
          compared_times(timed.pair, level, tolerance_);
    }
    return trials_;
  }

 private:
  // `part` is the trial's result, or that of one of its modes.
  void add_measured(Json& part, const Json& a, const Json& b, const std::string& mode) {
    if (!a.is_null() && !b.is_null()) {
      if (Json change = measurement_change(a, b); !change.is_null())
        part["measurement_verdict"] = std::move(change);
    }
    const std::string in_a = unmeasured(a, "A", mode), in_b = unmeasured(b, "B", mode);
    if (in_a.empty() && in_b.empty()) {
      timed_.push_back({trials_.size(),
                        mode,
                        {recorded_samples(a, mode), recorded_samples(b, mode),
                         recorded_turns(record_a_, mode), recorded_turns(record_b_, mode)}});
      return;
    }
    part["absent"] = {{"time", in_a + (in_a.empty() || in_b.empty() ? "" : "; ") + in_b}};
    // A mode that only one was asked for is like a trial that only one has.
    if (mode.empty() && a.is_null() != b.is_null()) part["measured_by_one"] = true;
  }

  void add_variants(Json& result, const Json& a, const Json& b) {
    Json modes = a;
    modes.update(b);
    for (const auto& [mode, either] : modes.items()) {
      result["variants"][mode] = Json::object();
      add_measured(result["variants"][mode], a.value(mode, Json()), b.value(mode, Json()), mode);
    }
  }

  const Json& record_a_;
  const Json& record_b_;
  double tolerance_;
  Json trials_ = Json::array();
  std::vector<Timed> timed_;
};

class Counts {
 public:
  void add(const Json& trial) {
    count("trials");
    if (trial.contains("refused")) count("refused");
    ways_.clear();
    note(trial, "verdict");
    add_part(trial);
    const Json variants = trial.value("variants", Json::object());
    for (const auto& part : variants) add_part(part);
    if (ways_.count("worse") != 0) {
      count("worse");
    } else if (ways_.count("better") != 0) {
      count("better");
    }
  }
  const Json& json() const { return counts_; }

 private:
  void count(const std::string& what) { counts_[what] = counts_[what].get<int>() + 1; }
  void note(const Json& part, const char* key) {
    if (part.contains(key)) ways_.insert(part[key].at("change").get<std::string>());
  }
  void add_part(const Json& part) {
    note(part, "measurement_verdict");
    if (part.contains("time")) count(part["time"].at("verdict").get<std::string>());
    if (part.contains("measured_by_one")) count("measured_by_one");
  }

  Json counts_{{"trials", 0}, {"refused", 0}, {"worse", 0},     {"better", 0},         {"slower", 0},
               {"faster", 0}, {"same", 0},    {"ambiguous", 0}, {"measured_by_one", 0}};
  std::set<std::string> ways_;
};

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
  Comparison comparison(record_a, record_b);
  for (const auto& trial : record_a.at("trials")) {
    const auto match = in_b.find(trial.at("id").get<std::string>());
    if (match == in_b.end()) {
      result["only_in_a"].push_back(trial.at("id"));
    } else {
      comparison.add(trial, *match->second, whole);
    }
  }
  for (const auto& trial : record_b.at("trials")) {
    if (in_a.count(trial.at("id").get<std::string>()) == 0) result["only_in_b"].push_back(trial.at("id"));
  }
  const Json trials = comparison.finish();
  Counts counts;
  for (const auto& trial : trials) counts.add(trial);
  result["summary"] = counts.json();
  result["trials"] = trials;
  return result;
}

}  // namespace ampgate::results
