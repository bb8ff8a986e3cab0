#include "results/exit_code.h"

#include <algorithm>
#include <vector>

#include "results/verdict.h"

namespace ampgate::results {
namespace {

// That in `warm` mode, and those of the other modes.
std::vector<MeasurementVerdict> measurements(const Json& trial) {
  std::vector<MeasurementVerdict> verdicts;
  const auto add = [&](const Json& measurement) {
    verdicts.push_back(measurement_verdict_from(measurement.at("verdict").get<std::string>()));
  };
  if (trial.contains("measurement")) add(trial["measurement"]);
  const Json variants = trial.value("variants", Json::object());
  for (const auto& variant : variants) add(variant);
  return verdicts;
}

bool is_asked_for(const Json& trial, const Rules& rules) {
  return is_required(rules, trial.at("precision").get<std::string>()) && !is_needless(trial);
}

// In one mode at least.
bool was_found(const Json& trial, MeasurementVerdict verdict) {
  const auto verdicts = measurements(trial);
  return std::find(verdicts.begin(), verdicts.end(), verdict) != verdicts.end();
}

bool has_undecided_target(const Json& trial) {
  const Json targets = trial.value("measurement", Json::object()).value("targets", Json::array());
  return std::any_of(targets.begin(), targets.end(),
                     [](const Json& target) { return target.at("outcome") == "not shown"; });
}

}  // namespace

bool is_needless(const Json& trial) { return !trial.value(Json::json_pointer("/islands/needed"), true); }

bool is_fine(const Json& trial, const Rules& rules, bool measures) {
  for (const auto verdict : measurements(trial)) {
    if (!carries_numbers(verdict)) return false;
  }
  if (!is_asked_for(trial, rules)) return true;
  const auto verdict = verdict_from(trial.at("verdict").get<std::string>());
  if (verdict == Verdict::kUnsupported) return !rules.unsupported_fails;
  if (!opens_gate(verdict, rules.suspect_opens_gate)) return false;
  return !measures || trial.contains("measurement");
}

bool judges_required(const Json& record, const Rules& rules) {
  const Json& trials = record.at("trials");
  return std::any_of(trials.begin(), trials.end(), [&](const Json& trial) {
    return is_required(rules, trial.at("precision").get<std::string>()) &&
           (is_needless(trial) || trial.at("verdict") != "unsupported");
  });
}

ExitCode exit_code(const Json& record, const Rules& rules) {
  const bool measures = record.contains("bench");
  for (const auto& trial : record.at("trials")) {
    if (!is_fine(trial, rules, measures)) return ExitCode::kFailed;
  }
  if (!judges_required(record, rules)) return ExitCode::kFailed;
  const Json& trials = record.at("trials");
  const bool below_target = std::any_of(trials.begin(), trials.end(), [](const Json& trial) {
    return was_found(trial, MeasurementVerdict::kBelowTarget);
  });
  if (below_target) return ExitCode::kSlower;
  const bool undecided = std::any_of(trials.begin(), trials.end(), [&](const Json& trial) {
    return has_undecided_target(trial) ||
           (is_asked_for(trial, rules) && was_found(trial, MeasurementVerdict::kAmbiguous));
  });
  return undecided ? ExitCode::kIncomparable : ExitCode::kOk;
}

}  // namespace ampgate::results
