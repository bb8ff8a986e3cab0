#include "driver/exit_code.h"

#include <algorithm>
#include <vector>

#include "driver/islands.h"
#include "results/verdict.h"

namespace ampgate::driver {
namespace {

using results::Json;

// That in `warm` mode, and those of the other modes.
std::vector<results::MeasurementVerdict> measurements(const Json& trial) {
  std::vector<results::MeasurementVerdict> verdicts;
  const auto add = [&](const Json& measurement) {
    verdicts.push_back(results::measurement_verdict_from(measurement.at("verdict").get<std::string>()));
  };
  if (trial.contains("measurement")) add(trial["measurement"]);
  const Json variants = trial.value("variants", Json::object());
  for (const auto& variant : variants) add(variant);
  return verdicts;
}

bool is_fine(const Json& trial, const results::Rules& rules, bool measures) {
  for (const auto verdict : measurements(trial)) {
    if (!results::carries_numbers(verdict)) return false;
  }
  if (!results::is_required(rules, trial.at("precision").get<std::string>()) || is_needless(trial))
    return true;
  const auto verdict = results::verdict_from(trial.at("verdict").get<std::string>());
  if (verdict == results::Verdict::kUnsupported) return !rules.unsupported_fails;
  if (!results::opens_gate(verdict, rules.suspect_opens_gate)) return false;
  return !measures || trial.contains("measurement");
}

}  // namespace

bool judges_required(const Json& record, const results::Rules& rules) {
  const Json& trials = record.at("trials");
  return std::any_of(trials.begin(), trials.end(), [&](const Json& trial) {
    return results::is_required(rules, trial.at("precision").get<std::string>()) &&
           (is_needless(trial) || trial.at("verdict") != "unsupported");
  });
}

results::ExitCode exit_code(const Json& record, const results::Rules& rules) {
  const bool measures = record.contains("bench");
  for (const auto& trial : record.at("trials")) {
    if (!is_fine(trial, rules, measures)) return results::ExitCode::kFailed;
  }
  if (!judges_required(record, rules)) return results::ExitCode::kFailed;
  const Json& trials = record.at("trials");
  const bool below_target = std::any_of(trials.begin(), trials.end(), [](const Json& trial) {
    const auto verdicts = measurements(trial);
    return std::find(verdicts.begin(), verdicts.end(), results::MeasurementVerdict::kBelowTarget) !=
           verdicts.end();
  });
  if (below_target) return results::ExitCode::kSlower;
  const bool target_not_shown = std::any_of(trials.begin(), trials.end(), [](const Json& trial) {
    const Json targets = trial.value("measurement", Json::object()).value("targets", Json::array());
    return std::any_of(targets.begin(), targets.end(),
                       [](const Json& target) { return target.at("outcome") == "not shown"; });
  });
  return target_not_shown ? results::ExitCode::kIncomparable : results::ExitCode::kOk;
}

}  // namespace ampgate::driver
