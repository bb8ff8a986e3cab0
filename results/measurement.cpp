#include "results/measurement.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "results/statistics.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

// "case/shape" of a trial's id.
std::string group_of(const std::string& id) { return id.substr(0, id.find('/', id.find('/') + 1)); }

std::string baseline_of(const std::string& id) { return group_of(id) + "/fp32"; }

// The id of the BF16 trial beside an FP16 trial; empty for another precision.
std::string bf16_partner(const std::string& id) {
  const auto at = id.find("-fp16", group_of(id).size());
  return at == std::string::npos ? std::string() : std::string(id).replace(at, 5, "-bf16");
}

// Rows of one trial over all processes, in the order in which they were measured.
template <typename Visit>
void for_each_row(const RunData& run, const std::string& id, Visit visit) {
  for (const auto& process : run.bench) {
    const auto samples = process.at("samples").find(id);
    if (samples == process.at("samples").end()) continue;
    for (const auto& row : *samples) visit(process.at("process").get<int>(), row);
  }
}

std::vector<Sample> samples_of(const RunData& run, const std::string& id) {
  std::vector<Sample> samples;
  for_each_row(run, id, [&](int process, const Json& row) {
    const auto calls = row.at(2).get<std::int64_t>();
    samples.push_back(
        {process, row.at(0).get<int>(), row.at(3).get<double>() / static_cast<double>(calls), calls});
  });
  return samples;
}

bool is_measured(const RunData& run, const std::string& id) {
  const Json verdict = measurement_verdict(run, id);
  return verdict.is_object() && verdict.at("verdict") == "measured";
}

double interval_level(const Rules& rules, int look) {
  const double level = rules.measurement.interval_level;
  return look == 0 ? level : level_at_look(level, look);
}

Json interval_json(const Interval& interval) { return Json::array({interval.low, interval.high}); }

Json to_json(const Estimate& estimate, const char* value_name, double level) {
  Json json{{value_name, estimate.value}};
  Json absent = Json::object();
  if (estimate.interval) {
    json["interval"] = interval_json(*estimate.interval);
  } else {
    absent["interval"] = estimate.method;
  }
  json["level"] = level;
  json["mad"] = estimate.mad;
  json["samples"] = estimate.samples;
  json["processes"] = estimate.processes;
  json["lag1"] = number(estimate.lag1);
  json["drift_per_block"] = number(estimate.drift);
  const auto add_probability = [&](const char* key, const std::optional<double>& p) {
    if (p) {
      json[key] = *p;
    } else {
      absent[key] = "too few blocks in a process to speak of their order";
    }
  };
  add_probability("lag1_p", estimate.lag1_p);
  add_probability("drift_p", estimate.drift_p);
  json["method"] = estimate.method;
  if (!absent.empty()) json["absent"] = std::move(absent);
  return json;
}

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// Work per call over the median time: 1/ns is 1e-3 tera and 1 giga per second.
Json rate(const Estimate& time, double work, double per_ns) {
  Json json{{"value", work / time.value * per_ns}};
  if (time.interval)
    json["interval"] = {work / time.interval->high * per_ns, work / time.interval->low * per_ns};
  return json;
}

std::optional<Estimate> ratio(const RunData& run, const std::string& numerator,
                              const std::string& denominator, double level) {
  if (!is_measured(run, numerator) || !is_measured(run, denominator)) return std::nullopt;
  const auto top = samples_of(run, numerator);
  const auto bottom = samples_of(run, denominator);
  return paired_ratio(top, bottom, level);
}

std::string say_speedup(const Estimate& speedup) {
  if (speedup.interval && speedup.interval->low <= 1.0 && speedup.interval->high >= 1.0) {
    return "no difference to fp32 shown";
  }
  if (speedup.value >= 1.0) return rounded(speedup.value) + " times as fast as fp32";
  return rounded(1.0 / speedup.value) + " times slower than fp32";
}

std::string say_fp16_to_bf16(const Estimate& estimate) {
  std::string text = "FP16 takes " + rounded(estimate.value) + " of BF16's time";
  if (!estimate.interval) return text;
  if (estimate.interval->high < 1.0) return text + ": FP16 is faster";
  if (estimate.interval->low > 1.0) return text + ": BF16 is faster";
  return text + ": no difference shown";
}

void add_rates(Json& result, const RunData& run, const std::string& id, const Estimate& time) {
  const auto trial = run.trials.find(id);
  const Json facts =
      trial == run.trials.end() ? Json::object() : trial->second.value("facts", Json::object());
  if (const double flops = facts.value("flops", 0.0); flops > 0) {
    result["tflops"] = rate(time, flops, 1e-3);
  } else {
    result["absent"]["tflops"] = "the case does not say how many operations it needs";
  }
  if (const double bytes = facts.value("bytes", 0.0); bytes > 0) {
    result["gbps"] = rate(time, bytes, 1.0);
  } else {
    result["absent"]["gbps"] = "the case does not say how many bytes it moves";
  }
}

void add_ratios(Json& result, const RunData& run, const std::string& id, double level) {
  if (const auto baseline = baseline_of(id); baseline != id) {
    if (const auto speedup = ratio(run, baseline, id, level)) {
      result["speedup_over_fp32"] = to_json(*speedup, "value", level);
      result["speedup_over_fp32"]["in_words"] = say_speedup(*speedup);
    } else {
      result["absent"]["speedup_over_fp32"] = "fp32 was not measured beside it";
    }
  }
  if (const auto bf16 = bf16_partner(id); !bf16.empty()) {
    if (const auto compared = ratio(run, id, bf16, level)) {
      result["fp16_to_bf16"] = to_json(*compared, "value", level);
      result["fp16_to_bf16"]["in_words"] = say_fp16_to_bf16(*compared);
    } else {
      result["absent"]["fp16_to_bf16"] = "BF16 was not measured beside it";
    }
  }
}

void add_inspection(Json& result, const RunData& run, const std::string& id) {
  const Json found = run.inspect.is_object() ? run.inspect.value(id, Json::object()) : Json::object();
  const std::string why = found.value("reason", "");
  for (const auto* key : {"memory", "audit"}) {
    if (found.contains(key)) {
      result[key] = found.at(key);
    } else {
      result["absent"][key] = why.empty() ? "the inspecting process gave no answer for this trial" : why;
    }
  }
}

void add_samples(Json& result, const RunData& run, const std::string& id) {
  Json rows = Json::array();
  double faults = 0, calls = 0;
  for_each_row(run, id, [&](int process, const Json& row) {
    rows.push_back({process, row.at(0), row.at(1), row.at(2), row.at(3)});
    faults += row.at(4).get<double>();
    calls += row.at(2).get<double>();
  });
  if (calls > 0) result["page_faults_per_call"] = faults / calls;
  result["samples"] = std::move(rows);
}

// What the order of the blocks shows beyond chance, in words.
Json order_notes(const Estimate& time) {
  constexpr double kSignificant = 0.01;
  Json notes = Json::array();
  if (time.drift_p && *time.drift_p < kSignificant) {
    char text[96];
    std::snprintf(text, sizeof text, "times drift by %+.2g %% a block (p = %.1g)", 100 * time.drift,
                  *time.drift_p);
    notes.push_back(text);
  }
  if (time.lag1_p && *time.lag1_p < kSignificant) {
    char text[96];
    std::snprintf(text, sizeof text,
                  "neighbouring blocks resemble each other (lag-1 correlation %.2f, p = %.1g)", time.lag1,
                  *time.lag1_p);
    notes.push_back(text);
  }
  return notes;
}

// Why the numbers of a trial say less than was planned; empty when they do not.
std::string shortfall(const RunData& run, std::size_t samples, const Estimate& time) {
  const Json& schedule = run.header.at("plan").at("schedule");
  const auto processes = schedule.at("processes").get<int>();
  const auto planned = static_cast<std::size_t>(processes * schedule.at("blocks_per_process").get<int>());
  if (samples < planned) {
    return std::to_string(samples) + " samples of " + std::to_string(time.processes) + " processes, where " +
           std::to_string(planned) + " of " + std::to_string(processes) +
           " were planned: the others were lost";
  }
  return time.interval ? "" : "no interval: " + time.method;
}

}  // namespace

int looks(const RunData& run) {
  int look = 0;
  for (const auto& process : run.bench) look = std::max(look, process.value("look", 0));
  return look;
}

Json measurement_verdict(const RunData& run, const std::string& id) {
  Json found;
  for (const auto& process : run.bench) {
    const auto answer = process.at("trials").find(id);
    if (answer == process.at("trials").end()) continue;
    if (found.is_null() || found.at("verdict") == "measured") found = *answer;
  }
  return found;
}

double widest_interval(const RunData& run, const std::string& group, const Rules& rules, int look) {
  const double level = interval_level(rules, look);
  double widest = 0;
  for (const auto& entry : run.header.at("plan").at("trials")) {
    const auto id = entry.at("id").get<std::string>();
    if (group_of(id) != group || !is_measured(run, id)) continue;
    const auto samples = samples_of(run, id);
    widest = std::max(widest, relative_half_width(median_time(samples, level)));
    const auto bf16 = bf16_partner(id);
    if (bf16.empty()) continue;
    if (const auto compared = ratio(run, id, bf16, level))
      widest = std::max(widest, relative_half_width(*compared));
  }
  return widest;
}

Json measurement(const RunData& run, const std::string& id, const Rules& rules) {
  const Json verdict = measurement_verdict(run, id);
  if (verdict.is_null()) return nullptr;
  Json result{{"verdict", verdict.at("verdict")}, {"reason", verdict.value("reason", "")}};
  if (!carries_numbers(measurement_verdict_from(verdict.at("verdict").get<std::string>()))) return result;
  const double level = interval_level(rules, looks(run));
  const auto samples = samples_of(run, id);
  const Estimate time = median_time(samples, level);
  if (auto reason = shortfall(run, samples.size(), time);
      !reason.empty() && result["verdict"] == "measured") {
    result["verdict"] = to_string(MeasurementVerdict::kAmbiguous);
    result["reason"] = std::move(reason);
  }
  result["time_ns"] = to_json(time, "median", level);
  if (Json notes = order_notes(time); !notes.empty()) result["notes"] = std::move(notes);
  if (verdict.contains("calls_per_cell")) result["time_ns"]["calls_per_cell"] = verdict.at("calls_per_cell");
  if (verdict.contains("output_check")) result["output_check"] = verdict.at("output_check");
  result["absent"] = Json::object();
  add_ratios(result, run, id, level);
  add_rates(result, run, id, time);
  add_inspection(result, run, id);
  add_samples(result, run, id);
  if (result["absent"].empty()) result.erase("absent");
  return result;
}

}  // namespace ampgate::results
