#include "results/choices.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/exit_code.h"
#include "results/precision_words.h"
#include "results/rules.h"
#include "results/samples.h"
#include "results/significant.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

using Ways = std::array<const char*, 3>;

constexpr Ways kFp16{"autocast-fp16", "cast-fp16", "islands-fp16"};
constexpr Ways kBf16{"autocast-bf16", "cast-bf16", "islands-bf16"};

std::string words_of(const std::string& precision) { return std::string(precision_words(precision)); }

void copy(Json& to, const char* key, const Json& from, const char* where) {
  if (Json value = at_pointer(from, where); !value.is_null()) to[key] = std::move(value);
}

// Trials of one case and shape, by precision.
class Group {
 public:
  void add(const Json& trial) { trials_.emplace_back(trial.at("precision").get<std::string>(), &trial); }

  const Json* find(const std::string& precision) const {
    const auto found = std::find_if(trials_.begin(), trials_.end(),
                                    [&](const auto& entry) { return entry.first == precision; });
    return found == trials_.end() ? nullptr : found->second;
  }

 private:
  std::vector<std::pair<std::string, const Json*>> trials_;
};

// Why a trial is no way to run the case; empty: it is one.
std::string why_not(const Json& trial, const Rules& rules) {
  const auto verdict = trial.at("verdict").get<std::string>();
  if (!opens_gate(verdict_from(verdict), rules.suspect_opens_gate))
    return verdict + ": " + trial.at("reason").get<std::string>();
  const auto measured = trial.value("measurement", Json::object()).value("verdict", "measured");
  if (!carries_numbers(measurement_verdict_from(measured)))
    return measured + " when measured: " + trial["measurement"].value("reason", "");
  if (trial.value("not_lowered", false)) return "autocast leaves all of it in FP32";
  return "";
}

std::optional<double> speedup(const Json& way) {
  const Json value = at_pointer(way, "/speedup_over_fp32/value");
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

Json describe(const Json& trial, const Json* fp32) {
  Json way{{"precision", trial.at("precision")}, {"verdict", trial.at("verdict")}};
  copy(way, "margin", trial, "/accuracy/kernel_error/margin");
  for (const char* member : {"rows", "flips", "defects", "lost", "accuracy"}) {
    const std::string where = std::string("/decisions/") + member;
    if (Json value = at_pointer(trial, where.c_str()); !value.is_null()) way["decisions"][member] = value;
  }
  copy(way, "regression", trial, "/decisions/regression/against_targets");
  for (const char* member : {"value", "interval", "level"}) {
    const std::string where = std::string("/measurement/speedup_over_fp32/") + member;
    if (Json value = at_pointer(trial, where.c_str()); !value.is_null())
      way["speedup_over_fp32"][member] = value;
  }
  const Json peak = at_pointer(trial, "/measurement/memory/peak_bytes");
  const Json baseline = fp32 == nullptr ? Json() : at_pointer(*fp32, "/measurement/memory/peak_bytes");
  if (peak.is_number() && baseline.is_number() && baseline.get<double>() > 0)
    way["memory_to_fp32"] = peak.get<double>() / baseline.get<double>();
  for (const char* member : {"metric", "outcome", "mean_loss", "limits", "margin"}) {
    const std::string where = std::string("/training/quality/") + member;
    if (Json value = at_pointer(trial, where.c_str()); !value.is_null())
      way["training_quality"][member] = value;
  }
  copy(way, "islands", trial, "/islands/regions");
  copy(way, "all_regions", trial, "/islands/all_regions");
  return way;
}

// The fastest of what may run; why there is none, else.
Json best_way(const Group& group, const Ways& ways, const Rules& rules, std::string& absent) {
  Json best;
  for (const char* way : ways) {
    const Json* trial = group.find(way);
    if (trial == nullptr || is_needless(*trial)) continue;
    if (const std::string reason = why_not(*trial, rules); !reason.empty()) {
      if (absent.empty()) absent = words_of(way) + ": " + reason;
      continue;
    }
    Json described = describe(*trial, group.find("fp32"));
    if (best.is_null() || speedup(described).value_or(0.0) > speedup(best).value_or(0.0))
      best = std::move(described);
  }
  if (best.is_null() && absent.empty()) absent = "the run has no such trial";
  return best;
}

double low(const Json& ratio) { return at_pointer(ratio, "/interval/0").get<double>(); }
double high(const Json& ratio) { return at_pointer(ratio, "/interval/1").get<double>(); }
bool has_interval(const Json& ratio) { return at_pointer(ratio, "/interval/1").is_number(); }

// Decisions that changed, as a share of the rows; 0 where it decides nothing.
double changed_share(const Json& way) {
  const Json decisions = way.value("decisions", Json::object());
  const double rows = decisions.value("rows", 0.0);
  return rows > 0 ? (decisions.value("flips", 0.0) + decisions.value("lost", 0.0)) / rows : 0.0;
}

std::string times_words(const Json& way) { return significant(*speedup(way)) + " times fp32's speed"; }

class Recommendation {
 public:
  Recommendation(const Json& entry, const Rules& rules)
      : entry_(entry), tolerance_(rules.measurement.tolerance) {}

  // `baseline`: why FP32 itself is none to fall back to, or to hold a type against; else empty.
  Json make(const std::string& baseline) const {
    if (!baseline.empty()) return said("", "none: FP32, which all is held against, is " + baseline);
    if (!entry_.contains("fp16") && !entry_.contains("bf16"))
      return said("fp32", "FP32: neither FP16 nor BF16 may run");
    for (const char* type : {"fp16", "bf16"}) {
      if (entry_.contains(type) && !entry_[type].contains("speedup_over_fp32"))
        return said("", "none: what may run was not measured");
    }
    const auto [chosen, why] = choose();
    const Json& ratio = chosen.at("speedup_over_fp32");
    const auto precision = chosen.at("precision").get<std::string>();
    const std::string name = words_of(precision);
    if (!has_interval(ratio)) return said("", "none: the time of " + name + " is not clear");
    if (high(ratio) < 1.0 - tolerance_)
      return said("fp32", "FP32: " + name + " is slower, at " + times_words(chosen) + memory_words(chosen));
    if (low(ratio) <= 1.0 + tolerance_)
      return said("fp32", "FP32: no gain in time is shown for " + name + " (" + times_words(chosen) + ")" +
                              memory_words(chosen));
    return said(precision, name + ": " + times_words(chosen) + memory_words(chosen) + why);
  }

 private:
  static Json said(const std::string& precision, const std::string& words) {
    Json result{{"in_words", words}};
    if (!precision.empty()) result["precision"] = precision;
    return result;
  }

  static std::string memory_words(const Json& way) {
    if (!way.contains("memory_to_fp32")) return "";
    return ", " + significant(way["memory_to_fp32"].get<double>()) + " times its memory";
  }

  struct Choice {
    const Json& way;
    std::string why;
  };

  Choice choose() const {
    if (!entry_.contains("bf16")) return {entry_["fp16"], "; BF16 may not run"};
    if (!entry_.contains("fp16")) return {entry_["bf16"], "; FP16 may not run"};
    const Json& fp16 = entry_["fp16"];
    const Json& bf16 = entry_["bf16"];
    if (const int faster = compare_times(fp16, bf16); faster != 0) {
      const Json& other = faster > 0 ? bf16 : fp16;
      return {faster > 0 ? fp16 : bf16, "; " + words_of(other.at("precision").get<std::string>()) +
                                            " is slower, at " + times_words(other)};
    }
    if (changed_share(fp16) != changed_share(bf16)) {
      return {changed_share(fp16) < changed_share(bf16) ? fp16 : bf16,
              "; the other type is not shown to be slower, but changes more decisions"};
    }
    return {bf16, "; FP16 is not shown to be faster or slower, and has the smaller range"};
  }

  // Above 0: FP16 is shown to be faster.
  int compare_times(const Json& fp16, const Json& bf16) const {
    if (entry_.contains("fp16_to_bf16")) {
      const Json& ratio = entry_["fp16_to_bf16"];
      if (!has_interval(ratio)) return 0;
      return high(ratio) < 1.0 - tolerance_ ? 1 : low(ratio) > 1.0 + tolerance_ ? -1 : 0;
    }
    // Of two ways that were not paired only intervals that lie apart say anything.
    const Json& a = fp16.at("speedup_over_fp32");
    const Json& b = bf16.at("speedup_over_fp32");
    if (!has_interval(a) || !has_interval(b)) return 0;
    return low(a) > high(b) * (1.0 + tolerance_) ? 1 : low(b) > high(a) * (1.0 + tolerance_) ? -1 : 0;
  }

  const Json& entry_;
  double tolerance_;
};

// "autocast-fp16" and "autocast-bf16" are the same way.
std::string way_of(const Json& way) {
  const auto precision = way.at("precision").get<std::string>();
  return precision.substr(0, precision.find('-'));
}

std::string baseline_problem(const Group& group, const Rules& rules) {
  const Json* fp32 = group.find("fp32");
  return fp32 == nullptr ? "not in the record" : why_not(*fp32, rules);
}

Json choice(const Json& first, const Group& group, const Rules& rules) {
  Json entry{{"case", first.at("case")}, {"shape", first.at("shape").at("name")}};
  for (const auto& [key, ways] : {std::pair("fp16", &kFp16), std::pair("bf16", &kBf16)}) {
    std::string absent;
    if (Json best = best_way(group, *ways, rules, absent); !best.is_null()) {
      entry[key] = std::move(best);
    } else {
      entry["absent"][key] = absent;
    }
  }
  if (entry.contains("fp16") && entry.contains("bf16") && way_of(entry["fp16"]) == way_of(entry["bf16"])) {
    const Json* trial = group.find(entry["fp16"].at("precision").get<std::string>());
    copy(entry, "fp16_to_bf16", *trial, "/measurement/fp16_to_bf16");
  }
  if (!entry.contains("fp16_to_bf16"))
    entry["absent"]["fp16_to_bf16"] = "the two were not measured the same way";
  entry["recommendation"] = Recommendation(entry, rules).make(baseline_problem(group, rules));
  return entry;
}

}  // namespace

Json choices(const Json& record) {
  const Rules rules = parse_rules(record.at("rules").dump(), "/rules");
  std::vector<std::pair<const Json*, Group>> groups;
  for (const auto& trial : record.at("trials")) {
    const std::string name = group_of(trial.at("id").get<std::string>());
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& entry) {
      return group_of(entry.first->at("id").template get<std::string>()) == name;
    });
    Group& group = found == groups.end() ? groups.emplace_back(&trial, Group()).second : found->second;
    group.add(trial);
  }
  Json all = Json::array();
  for (const auto& [first, group] : groups) all.push_back(choice(*first, group, rules));
  return all;
}

}  // namespace ampgate::results
