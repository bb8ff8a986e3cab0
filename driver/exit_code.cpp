#include "driver/exit_code.h"

#include <algorithm>

#include "driver/islands.h"
#include "results/verdict.h"

namespace ampgate::driver {
namespace {

using results::Json;

bool is_fine(const Json& trial, const results::Rules& rules, bool measures) {
  if (trial.contains("measurement")) {
    const auto measured =
        results::measurement_verdict_from(trial["measurement"].at("verdict").get<std::string>());
    if (!results::carries_numbers(measured)) return false;
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
  return judges_required(record, rules) ? results::ExitCode::kOk : results::ExitCode::kFailed;
}

}  // namespace ampgate::driver
