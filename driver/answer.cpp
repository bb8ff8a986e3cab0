#include "driver/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "driver/names.h"
#include "results/rules.h"
#include "results/verdict.h"

namespace ampgate::driver {
namespace {

using results::Json;

struct Precision {
  const char* id;
  const char* words;
};

constexpr Precision kHalf[] = {{"autocast-fp16", "FP16 by autocast"},
                               {"cast-fp16", "FP16 by conversion"},
                               {"autocast-bf16", "BF16 by autocast"},
                               {"cast-bf16", "BF16 by conversion"},
                               {"tf32", "TF32"}};

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

struct Speedups {
  double log_sum = 0;
  int count = 0;
  double best = 0, worst = 0;
  std::string best_name, worst_name;

  void add(double ratio, const std::string& name) {
    log_sum += std::log(ratio);
    if (count == 0 || ratio > best) best = ratio, best_name = name;
    if (count == 0 || ratio < worst) worst = ratio, worst_name = name;
    ++count;
  }

  std::string words() const {
    if (count == 1) return fmt::format("{:.2f} times fp32's speed", best);
    return fmt::format(
        "{:.2f} times fp32's speed in the geometric mean of {} (from {:.2f}, {}, to {:.2f}, {})",
        std::exp(log_sum / count), count, worst, worst_name, best, best_name);
  }
};

std::optional<double> speedup_of(const Json& trial) {
  const Json measurement = trial.value("measurement", Json::object());
  if (!measurement.contains("speedup_over_fp32")) return std::nullopt;
  const double ratio = measurement["speedup_over_fp32"].at("value").get<double>();
  return ratio > 0 ? std::optional(ratio) : std::nullopt;
}

// One sentence on a precision; empty when the run has no trial of it.
std::string sentence(const Json& record, const results::Rules& rules, const Precision& precision) {
  int total = 0, open = 0, suspect = 0, kept = 0;
  Speedups speedups;
  for (const auto& trial : record.at("trials")) {
    if (trial.at("precision") != precision.id) continue;
    ++total;
    const auto verdict = results::verdict_from(trial.at("verdict").get<std::string>());
    if (!results::opens_gate(verdict, rules.suspect_opens_gate)) continue;
    ++open;
    suspect += verdict == results::Verdict::kSuspect ? 1 : 0;
    // Where autocast left every operator in FP32, nothing can be said about 16 bit.
    if (trial.value("not_lowered", false)) {
      ++kept;
    } else if (const auto ratio = speedup_of(trial)) {
      speedups.add(*ratio, name_of(trial));
    }
  }
  if (total == 0) return {};
  std::string text = open == 0 ? fmt::format("{} may run in none of {} cases", precision.words, total)
                     : open == total
                         ? fmt::format("{} may run in all {} cases", precision.words, total)
                         : fmt::format("{} may run in {} of {} cases", precision.words, open, total);
  if (total == 1) text = fmt::format("{} {}", precision.words, open == 1 ? "may run" : "may not run");
  if (suspect > 0) text += fmt::format(" ({} suspect)", suspect);
  if (kept > 0) {
    text += total == 1 ? "; it stayed in FP32 all the same (not lowered)"
                       : fmt::format("; {} of them stayed in FP32 all the same (not lowered)", kept);
  }
  if (speedups.count > 0) text += (kept > 0 ? ", the others at " : ", at ") + speedups.words();
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
    const auto id = trial.at("id").get<std::string>();
    const auto verdict = trial.at("verdict").get<std::string>();
    if (verdict == "baseline-invalid" && trial.at("precision") != "fp32") {
      note(verdict, "fp32 failed, so nothing else of the case can be judged", name_of(trial));
    } else if (!results::opens_gate(results::verdict_from(verdict), rules.suspect_opens_gate)) {
      note(verdict, trial.at("reason").get<std::string>(), id);
    }
    const Json measurement = trial.value("measurement", Json::object());
    const auto measured = measurement.value("verdict", "measured");
    if (!results::carries_numbers(results::measurement_verdict_from(measured))) {
      note("not measured, " + measured, measurement.value("reason", ""), id);
    }
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

}  // namespace

std::vector<std::string> answer(const Json& record) {
  const auto rules = results::parse_rules(record.at("rules").dump(), "rules");
  std::vector<std::string> sentences;
  add_baseline(record, rules, sentences);
  for (const auto& precision : kHalf) {
    if (auto text = sentence(record, rules, precision); !text.empty()) sentences.push_back(std::move(text));
  }
  add_failures(record, rules, sentences);
  if (sentences.empty()) sentences.push_back("The fp32 baseline is right; no other precision was asked for.");
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
