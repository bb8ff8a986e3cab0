#include "driver/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "driver/islands.h"
#include "driver/names.h"
#include "driver/sweep_table.h"
#include "driver/update_times.h"
#include "driver/words.h"
#include "results/exit_code.h"
#include "results/precision_words.h"
#include "results/rules.h"
#include "results/verdict.h"

namespace ampgate::driver {
namespace {

using results::Json;

// In the order of the sentences.
constexpr const char* kAnswered[] = {"autocast-fp16", "cast-fp16",    "autocast-bf16", "cast-bf16",
                                     "islands-fp16",  "islands-bf16", "tf32"};

std::string name_of(const Json& trial) {
  return trial.at("case").get<std::string>() + "/" + trial.at("shape").at("name").get<std::string>();
}

std::string shortened(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<long>(std::min(names.size(), kMost)));
  std::string text = join(shown, ", ");
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

struct Speedup {
  double ratio;
  bool shown;  // its interval, without which nothing is claimed, does not hold 1
  std::string name;

  std::string words() const { return ratio_words(ratio) + ", " + name; }
};

std::string words(const std::vector<Speedup>& speedups) {
  if (speedups.size() == 1) {
    return fmt::format("{} times fp32's speed{}", ratio_words(speedups[0].ratio),
                       speedups[0].shown ? "" : " (no difference shown)");
  }
  double log_sum = 0;
  const Speedup* worst = nullptr;
  const Speedup* best = nullptr;
  for (const auto& speedup : speedups) {
    log_sum += std::log(speedup.ratio);
    if (!speedup.shown) continue;  // an extreme that may be noise is no example
    if (worst == nullptr || speedup.ratio < worst->ratio) worst = &speedup;
    if (best == nullptr || speedup.ratio > best->ratio) best = &speedup;
  }
  const double mean = std::exp(log_sum / static_cast<double>(speedups.size()));
  std::string text =
      fmt::format("{} times fp32's speed in the geometric mean of {}", ratio_words(mean), speedups.size());
  if (worst == nullptr) return text + " (no difference shown in any)";
  if (worst == best) return text + fmt::format(" (a difference shown in one: {})", worst->words());
  return text + fmt::format(" (differences shown from {}, to {})", worst->words(), best->words());
}

std::optional<Speedup> speedup_of(const Json& trial) {
  const Json measurement = trial.value("measurement", Json::object());
  if (!measurement.contains("speedup_over_fp32")) return std::nullopt;
  const Json& found = measurement["speedup_over_fp32"];
  const double ratio = found.at("value").get<double>();
  if (!(ratio > 0) || !found.contains("interval")) return std::nullopt;
  const bool shown =
      found["interval"].at(0).get<double>() > 1.0 || found["interval"].at(1).get<double>() < 1.0;
  return Speedup{ratio, shown, name_of(trial)};
}

// A trial that phase 1 let through and that then failed under the very calls that users make.
bool failed_when_measured(const Json& trial) {
  if (!trial.contains("measurement")) return false;
  const auto verdict =
      results::measurement_verdict_from(trial["measurement"].at("verdict").get<std::string>());
  return !results::carries_numbers(verdict) && verdict != results::MeasurementVerdict::kRefused;
}

// One sentence on a precision; empty when the run has no trial of it.
std::string sentence(const Json& record, const results::Rules& rules, const char* precision) {
  int total = 0, open = 0, suspect = 0, kept = 0, failed = 0, unmeasured = 0, unclear = 0;
  std::vector<Speedup> speedups;
  for (const auto& trial : record.at("trials")) {
    if (trial.at("precision") != precision || results::is_needless(trial)) continue;
    ++total;
    const auto verdict = results::verdict_from(trial.at("verdict").get<std::string>());
    if (!results::opens_gate(verdict, rules.suspect_opens_gate)) continue;
    if (failed_when_measured(trial)) {
      ++failed;
      continue;
    }
    ++open;
    unmeasured += trial.contains("measurement") && trial["measurement"].at("verdict") == "refused" ? 1 : 0;
    suspect += verdict == results::Verdict::kSuspect ? 1 : 0;
    // Where autocast left every operator in FP32, nothing can be said about 16 bit.
    if (trial.value("not_lowered", false)) {
      ++kept;
    } else if (auto speedup = speedup_of(trial)) {
      speedups.push_back(std::move(*speedup));
    } else if (trial.value("measurement", Json::object()).contains("time_ns")) {
      ++unclear;
    }
  }
  if (total == 0) return {};
  const std::string_view named = results::precision_words(precision);
  std::string text = open == 0       ? fmt::format("{} may run in none of {} cases", named, total)
                     : open == total ? fmt::format("{} may run in all {} cases", named, total)
                                     : fmt::format("{} may run in {} of {} cases", named, open, total);
  if (total == 1) text = fmt::format("{} {}", named, open == 1 ? "may run" : "may not run");
  if (suspect > 0) text += fmt::format(" ({} suspect)", suspect);
  if (failed > 0)
    text += total == 1 ? ": it failed when measured" : fmt::format("; {} failed when measured", failed);
  if (unmeasured > 0) text += fmt::format("; {} refused to be measured here", unmeasured);
  if (kept > 0) {
    text += total == 1 ? "; it stayed in FP32 all the same (not lowered)"
                       : fmt::format("; {} of them stayed in FP32 all the same (not lowered)", kept);
  }
  if (unclear > 0) {
    text += total == 1 ? "; its time is not clear" : fmt::format("; the times of {} are not clear", unclear);
  }
  if (!speedups.empty()) text += (kept + unclear > 0 ? ", the others at " : ", at ") + words(speedups);
  return text + ".";
}

// "crashed: matmul/... in cast-fp16 (reason)" for trials that share verdict and reason.
void add_failures(const Json& record, const results::Rules& rules, std::vector<std::string>& sentences) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> failures;
  std::vector<std::pair<std::string, std::string>> order;
  const auto note = [&](const std::string& verdict, const std::string& reason, const std::string& id) {
    auto& ids = failures[{verdict, reason}];
    if (ids.empty()) order.emplace_back(verdict, reason);
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  };
  for (const auto& trial : record.at("trials")) {
    if (results::is_needless(trial)) continue;
    const auto id = trial.at("id").get<std::string>();
    const auto verdict = trial.at("verdict").get<std::string>();
    if (verdict == "baseline-invalid" && trial.at("precision") != "fp32") {
      note(verdict, "fp32 failed, so nothing else of the case can be judged", name_of(trial));
    } else if (!results::opens_gate(results::verdict_from(verdict), rules.suspect_opens_gate)) {
      note(verdict, trial.at("reason").get<std::string>(), id);
    }
    const auto note_measurement = [&](const Json& measurement, const std::string& name) {
      const auto measured = measurement.at("verdict").get<std::string>();
      if (measured == "measured") return;
      const bool numbers = results::carries_numbers(results::measurement_verdict_from(measured));
      note(numbers ? measured : "not measured, " + measured, measurement.value("reason", ""), name);
    };
    if (trial.contains("measurement")) note_measurement(trial["measurement"], id);
    const Json variants = trial.value("variants", Json::object());
    for (const auto& [mode, variant] : variants.items()) note_measurement(variant, id + " " + mode);
  }
  for (const auto& key : order) {
    sentences.push_back(fmt::format("{}: {} ({})", key.first, shortened(failures[key]), key.second));
  }
}

void add_baseline(const Json& record, const results::Rules& rules, std::vector<std::string>& sentences) {
  int total = 0, open = 0;
  for (const auto& trial : record.at("trials")) {
    if (trial.at("precision") != "fp32") continue;
    ++total;
    const auto verdict = results::verdict_from(trial.at("verdict").get<std::string>());
    open += results::opens_gate(verdict, rules.suspect_opens_gate) ? 1 : 0;
  }
  if (open < total)
    sentences.push_back(fmt::format("The fp32 baseline itself is right in {} of {} cases.", open, total));
}

// A run that was compared with no target must not look as if it had met them.
std::string targets_sentence(const Json& record, const results::Rules& rules) {
  if (!record.contains("bench")) return {};
  int met = 0, seen = 0;
  for (const auto& trial : record.at("trials")) {
    for (const auto& target : trial.value("measurement", Json::object()).value("targets", Json::array())) {
      ++seen;
      met += target.at("outcome") == "met" ? 1 : 0;
    }
  }
  if (seen > 0) return fmt::format("Targets of the rules: {} of {} met.", met, seen);
  const auto model = record.at("device").value("model", record.at("device").value("name", "this device"));
  return rules.targets.empty()
             ? "Targets: the rules hold none, so no time was compared with one."
             : fmt::format("Targets: the rules hold none for a trial of this run on {}.", model);
}

}  // namespace

std::vector<std::string> answer(const Json& record) {
  const auto rules = results::parse_rules(record.at("rules").dump(), "rules");
  std::vector<std::string> sentences;
  add_baseline(record, rules, sentences);
  for (const char* precision : kAnswered) {
    if (auto text = sentence(record, rules, precision); !text.empty()) sentences.push_back(std::move(text));
  }
  for (auto& update : update_times_words(record)) sentences.push_back(std::move(update));
  for (auto& remedy : remedies(record)) sentences.push_back(std::move(remedy));
  for (auto& grown : sweep_words(record)) sentences.push_back(std::move(grown));
  add_failures(record, rules, sentences);
  if (!results::judges_required(record, rules)) {
    sentences.push_back(fmt::format(
        "The rules require {}, and no such trial was judged: this run fails, whatever the others say.",
        join(rules.required, ", ")));
  }
  if (sentences.empty()) sentences.push_back("The fp32 baseline is right; no other precision was asked for.");
  if (auto text = targets_sentence(record, rules); !text.empty()) sentences.push_back(std::move(text));
  return sentences;
}

std::vector<std::string> findings(const Json& record) {
  std::map<std::string, std::vector<std::string>> by_kind;
  for (const auto& trial : record.at("trials")) {
    const Json found = trial.value("findings", Json::array());
    if (!found.is_array()) continue;
    for (const auto& finding : found) {
      if (!finding.is_object()) continue;
      const auto kind =
          finding.value("verdict", "finding") + " on input '" + finding.value("input", "?") + "'";
      auto& trials = by_kind[kind + ", " + trial.at("precision").get<std::string>()];
      const auto name = trial.at("case").get<std::string>();
      if (std::find(trials.begin(), trials.end(), name) == trials.end()) trials.push_back(name);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [kind, trials] : by_kind) lines.push_back(kind + ": " + shortened(trials));
  return lines;
}

}  // namespace ampgate::driver
