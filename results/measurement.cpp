#include "results/measurement.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "results/ceilings.h"
#include "results/estimate_json.h"
#include "results/overhead.h"
#include "results/percentiles.h"
#include "results/roofline.h"
#include "results/samples.h"
#include "results/statistics.h"
#include "results/sustained.h"
#include "results/targets.h"
#include "results/training_steps.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

std::string baseline_of(const std::string& id) { return group_of(id) + "/fp32"; }

// An interval beyond that says nothing about its median: from nothing to twice as long, at least.
constexpr double kWidestTime = 1.0;

std::string precision_of(const std::string& id) { return id.substr(group_of(id).size() + 1); }

// The id of the BF16 trial beside an FP16 trial; empty for another precision.
std::string bf16_partner(const std::string& id) {
  const auto at = id.find("-fp16", group_of(id).size());
  return at == std::string::npos ? std::string() : std::string(id).replace(at, 5, "-bf16");
}

// A member of what phase 1 said about the trial.
template <typename Value>
Value validated(const RunData& run, const std::string& id, const char* key, Value otherwise) {
  const auto trial = run.trials.find(id);
  return trial == run.trials.end() ? otherwise : trial->second.value(key, otherwise);
}

// Autocast left every operator in FP32: the trial says nothing about 16 bit.
bool is_not_lowered(const RunData& run, const std::string& id) {
  return validated(run, id, "not_lowered", false);
}

bool is_measured(const RunData& run, const std::string& id, const std::string& mode) {
  const Json verdict = measurement_verdict(run, id, mode);
  return verdict.is_object() && verdict.at("verdict") == "measured";
}

// The last look that saw samples of this case: cases whose intervals are narrow are not measured further.
int last_look(const RunData& run, const std::string& group) {
  int look = 0;
  for (const auto& process : run.bench) {
    if (mode_of(process) != kWarm) continue;
    const auto& samples = process.at("samples");
    const bool seen = std::any_of(samples.items().begin(), samples.items().end(),
                                  [&](const auto& item) { return group_of(item.key()) == group; });
    if (seen) look = std::max(look, process.value("look", 0));
  }
  return look;
}

double interval_level(const Rules& rules, int look) {
  const double level = rules.measurement.interval_level;
  return look == 0 ? level : level_at_look(level, look);
}

double level_of(const RunData& run, const std::string& id, const Rules& rules, const std::string& mode) {
  return interval_level(rules, mode == kWarm ? last_look(run, group_of(id)) : 0);
}

std::vector<Sample> samples_in(const Selection& selection, const std::string& mode) {
  return mode == "sustained" ? steady(selection.rows) : selection.samples;
}

enum class Per { kCall, kAppliedUpdate };

std::vector<Sample> samples_of(const RunData& run, const std::string& id, const std::string& mode, Per per) {
  const Selection selection = select_samples(run, id, mode);
  auto samples = samples_in(selection, mode);
  return per == Per::kCall ? samples : per_applied_update(std::move(samples), step_counts(selection.rows));
}

// Why the numbers of a trial say less than was planned; empty when they do not.
std::string shortfall(const RunData& run, const Selection& selection, const Estimate& time,
                      const std::string& mode) {
  const Json& schedule = run.header.at("plan").at("schedule");
  const auto processes = schedule.at("processes").get<int>();
  const auto planned = static_cast<std::size_t>(processes * schedule.at("blocks_per_process").get<int>());
  // Where a budget may end a run, stopped_by() says that it did.
  const bool fixed = mode != kWarm || !schedule.contains("target_half_width");
  if (mode != "sustained" && fixed && selection.rows.size() < planned) {
    return std::to_string(selection.rows.size()) + " samples of " + std::to_string(time.processes) +
           " processes, where " + std::to_string(planned) + " of " + std::to_string(processes) +
           " were planned: the others were lost";
  }
  const Disturbance& disturbance = selection.disturbance;
  if (disturbance.blocks > disturbance.left_out) {
    return std::to_string(disturbance.blocks) + " of " + std::to_string(selection.rows.size()) +
           " blocks were disturbed, too many to leave them all out (" + disturbance.example + ")";
  }
  if (!time.interval) return time.method;
  return relative_half_width(time) > kWidestTime
             ? "the processes lie so far apart that the interval is wider than its median"
             : "";
}

// The same for a trial of which only the samples are at hand.
std::string why_unclear(const RunData& run, const std::string& id, const std::string& mode, double level) {
  const Selection selection = select_samples(run, id, mode);
  const auto samples = samples_in(selection, mode);
  return samples.empty() ? "" : shortfall(run, selection, median_time(samples, level), mode);
}

// Trials of one block stood side by side, but for `sustained`, where each ran alone.
std::optional<Estimate> ratio(const RunData& run, const std::string& numerator,
                              const std::string& denominator, double level, const std::string& mode,
                              Per per = Per::kCall) {
  if (!is_measured(run, numerator, mode) || !is_measured(run, denominator, mode)) return std::nullopt;
  const auto above = samples_of(run, numerator, mode, per), below = samples_of(run, denominator, mode, per);
  if (above.empty() || below.empty()) return std::nullopt;
  return mode == "sustained" ? unpaired_ratio(above, below, level) : paired_ratio(above, below, level);
}

// The same, without an interval where one of the two is unclear: no speed is claimed from it.
std::optional<Estimate> claimed_ratio(const RunData& run, const std::string& numerator,
                                      const std::string& denominator, double level, const std::string& mode,
                                      Per per) {
  auto found = ratio(run, numerator, denominator, level, mode, per);
  if (!found || !found->interval) return found;
  for (const auto& id : {numerator, denominator}) {
    const std::string reason = why_unclear(run, id, mode, level);
    if (reason.empty()) continue;
    found->interval.reset();
    found->method = "no interval, since " + id + " is unclear: " + reason;
    break;
  }
  return found;
}

void add_ratios(Json& result, const RunData& run, const std::string& id, double level,
                const std::string& mode, Per per = Per::kCall) {
  const std::string missing = per == Per::kCall
                                  ? "was not measured beside it"
                                  : "was not measured beside it, or one of the two applied no update";
  if (const auto baseline = baseline_of(id); baseline != id) {
    if (const auto speedup = claimed_ratio(run, baseline, id, level, mode, per)) {
      result["speedup_over_fp32"] = to_json(*speedup, "value", level);
      result["speedup_over_fp32"]["in_words"] = say_speedup(*speedup);
      if (is_not_lowered(run, id)) {
        // FP32 against FP32: what autocast itself costs.
        result["speedup_over_fp32"]["not_lowered"] = true;
        result["speedup_over_fp32"]["in_words"] =
            "not lowered: autocast left every operator in FP32, so this is no speed of 16 bit";
      }
    } else {
      result["absent"]["speedup_over_fp32"] = "fp32 " + missing;
    }
  }
  if (const auto bf16 = bf16_partner(id); !bf16.empty()) {
    if (is_not_lowered(run, id) || is_not_lowered(run, bf16)) {
      result["absent"]["fp16_to_bf16"] = "not lowered: autocast left every operator in FP32";
    } else if (const auto compared = claimed_ratio(run, id, bf16, level, mode, per)) {
      result["fp16_to_bf16"] = to_json(*compared, "value", level);
      result["fp16_to_bf16"]["in_words"] = say_fp16_to_bf16(*compared);
    } else {
      result["absent"]["fp16_to_bf16"] = "BF16 " + missing;
    }
  }
}

// The answer of the inspecting process; empty when there is none.
Json inspection(const RunData& run, const std::string& id) {
  return run.inspect.is_object() ? run.inspect.value(id, Json::object()) : Json::object();
}

void add_inspection(Json& result, const RunData& run, const std::string& id) {
  const Json found = inspection(run, id);
  const std::string why = found.value("reason", "");
  for (const auto* key : {"memory", "audit"}) {
    if (found.contains(key)) {
      result[key] = found.at(key);
    } else {
      result["absent"][key] = why.empty() ? "the inspecting process gave no answer for this trial" : why;
    }
  }
}

void add_rows(Json& result, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  Json list = Json::array();
  double faults = 0, calls = 0;
  for (const Row& row : rows) {
    list.push_back({row.process, row.block, row.order, row.calls, row.time_ns});
    if (!row.more.empty()) list.back().push_back(row.more);
    faults += row.page_faults;
    calls += static_cast<double>(row.calls);
  }
  result["page_faults_per_call"] = faults / calls;
  result["samples"] = std::move(list);
}

void add_disturbance(Json& result, const Disturbance& disturbance) {
  if (disturbance.blocks == 0) return;
  result["disturbed"] = {
      {"blocks", disturbance.blocks}, {"left_out", disturbance.left_out}, {"example", disturbance.example}};
}

std::int64_t cells_checked(const RunData& run, const std::string& id, const std::string& mode) {
  std::int64_t cells = 0;
  for (const auto& process : run.bench) {
    if (mode_of(process) != mode) continue;
    const auto answer = process.at("trials").find(id);
    if (answer != process.at("trials").end()) cells += answer->value("cells_checked", std::int64_t{0});
  }
  return cells;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%", 100 * share);
  return text;
}

// Which of width and budget ended the measurement, where a width was asked for; and why it says less than
// asked.
std::string stopped_by(Json& result, const RunData& run, const std::string& id, const Rules& rules) {
  const Json& schedule = run.header.at("plan").at("schedule");
  if (!schedule.contains("target_half_width")) {
    result["stopped_by"] = "fixed number of blocks";
    return "";
  }
  const double asked = schedule["target_half_width"].get<double>();
  const int look = last_look(run, group_of(id));
  const double reached = widest_interval(run, group_of(id), rules, look);
  result["looks"] = look;
  result["widest_half_width"] = number(reached);
  if (reached <= asked) {
    result["stopped_by"] = "width";
    return "";
  }
  result["stopped_by"] = "budget";
  char budget[32];
  std::snprintf(budget, sizeof budget, "%g", schedule.at("budget_s").get<double>());
  const std::string spent =
      ", asked for were +-" + percent(asked) + ": the budget of " + budget + " s was spent";
  if (!std::isfinite(reached)) return "the samples are too few for an interval" + spent;
  return "the widest interval of this case is +-" + percent(reached) + spent;
}

Series call_times(const std::vector<Row>& rows) {
  std::map<int, std::vector<double>> by_process;
  for (const Row& row : rows) {
    if (row.more.value("left_out", false)) continue;
    for (const auto& time : row.more.value("call_times_ns", Json::array()))
      by_process[row.process].push_back(time.get<double>());
  }
  Series series;
  for (auto& [process, times] : by_process) series.push_back(std::move(times));
  return series;
}

void make(Json& result, MeasurementVerdict verdict, std::string reason) {
  if (reason.empty() || result["verdict"] != "measured") return;
  result["verdict"] = to_string(verdict);
  result["reason"] = std::move(reason);
}

Json refused(const std::string& reason) {
  return {{"verdict", to_string(MeasurementVerdict::kRefused)}, {"reason", reason}};
}

// Its verdict opens the gate, and the measuring phase ended.
bool was_meant_to_be_measured(const RunData& run, const std::string& id, const Rules& rules) {
  const auto trial = run.trials.find(id);
  return trial != run.trials.end() && run.ended("bench") &&
         opens_gate(verdict_from(trial->second.at("verdict").get<std::string>()), rules.suspect_opens_gate);
}

// Precisions are measured beside fp32 or not at all.
Json nothing_beside(const RunData& run, const std::string& id) {
  const Json baseline = measurement_verdict(run, baseline_of(id), kWarm);
  return refused("fp32 beside it: " + (baseline.is_object() ? baseline.value("verdict", "not measured")
                                                            : std::string("not measured")));
}

Json measured_in(const RunData& run, const std::string& id, const Rules& rules, const Json& ceilings,
                 const std::string& mode) {
  const Json verdict = measurement_verdict(run, id, mode);
  if (verdict.is_null())
    return mode == kWarm && was_meant_to_be_measured(run, id, rules) ? nothing_beside(run, id) : Json();
  Json result{{"verdict", verdict.at("verdict")}, {"reason", verdict.value("reason", "")}};
  const auto selection = select_samples(run, id, mode);
  const auto& rows = selection.rows;
  if (!carries_numbers(measurement_verdict_from(verdict.at("verdict").get<std::string>())) || rows.empty()) {
    if (verdict.contains("audit")) result["audit"] = verdict.at("audit");
    add_rows(result, rows);  // what was measured until then; no number is made of it
    return result;
  }
  const double level = level_of(run, id, rules, mode);
  const auto samples = samples_in(selection, mode);
  const Estimate time = median_time(samples, level);
  const Json facts = validated(run, id, "facts", Json::object());
  const Work work{facts.value("flops", 0.0), facts.value("bytes", 0.0),
                  format_of(precision_of(id), is_not_lowered(run, id)), mode == "cold"};
  if (std::string reason = impossible(work, time, ceilings); !reason.empty()) return refused(reason);

  const std::string unclear = shortfall(run, selection, time, mode);
  const std::string stopped = mode == kWarm ? stopped_by(result, run, id, rules) : "";
  // That there is no interval is the budget's doing, where it ended the run.
  if (time.interval || stopped.empty()) make(result, MeasurementVerdict::kAmbiguous, unclear);
  make(result, MeasurementVerdict::kAmbiguous, stopped);
  result["time_ns"] = to_json(time, "median", level);
  if (Json notes = order_notes(time); !notes.empty()) result["notes"] = std::move(notes);
  if (verdict.contains("calls_per_cell")) result["time_ns"]["calls_per_cell"] = verdict.at("calls_per_cell");
  if (verdict.contains("output_check")) {
    result["output_check"] = verdict.at("output_check");
    result["cells_checked"] = cells_checked(run, id, mode);
  }
  result["absent"] = Json::object();
  if (mode == "latency") result["latency"] = to_json(latency(call_times(rows), level), level);
  if (mode == "sustained") result["sustained"] = sustained(rows, verdict);
  add_disturbance(result, selection.disturbance);
  add_ratios(result, run, id, level, mode);
  if (verdict.contains("training")) {
    result["training"] = training_steps(verdict, step_counts(rows), samples, level);
    add_ratios(result["training"], run, id, level, mode, Per::kAppliedUpdate);
  }
  add_roofline(result, work, time, ceilings);
  if (mode == kWarm) {
    add_inspection(result, run, id);
    add_overhead(result, run, id, time, level);
    add_casts(result, id, inspection(run, id), level);
    add_targets(result, run, id, rules, unclear);
  }
  add_rows(result, rows);
  if (result["absent"].empty()) result.erase("absent");
  return result;
}

}  // namespace

int looks(const RunData& run) {
  int look = 0;
  for (const auto& process : run.bench) look = std::max(look, process.value("look", 0));
  return look;
}

Json measurement_verdict(const RunData& run, const std::string& id, const std::string& mode) {
  // What was not audited to the end has no number, whatever the plain calls did.
  if (Json inspected = inspection(run, id); inspected.value("verdict", "measured") != "measured") {
    if (inspected["verdict"] != "refused")
      inspected["reason"] = "in the audit: " + inspected.value("reason", "");
    return mode == kWarm ? inspected : Json();
  }
  Json found;
  for (const auto& process : run.bench) {
    if (mode_of(process) != mode) continue;
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
    if (group_of(id) != group || !is_measured(run, id, kWarm)) continue;
    widest =
        std::max(widest, relative_half_width(median_time(select_samples(run, id, kWarm).samples, level)));
    const auto bf16 = bf16_partner(id);
    if (bf16.empty() || is_not_lowered(run, id) || is_not_lowered(run, bf16)) continue;
    if (const auto compared = ratio(run, id, bf16, level, kWarm))
      widest = std::max(widest, relative_half_width(*compared));
  }
  return widest;
}

Json measurement(const RunData& run, const std::string& id, const Rules& rules, const Json& ceilings) {
  return measured_in(run, id, rules, ceilings, kWarm);
}

Json variants(const RunData& run, const std::string& id, const Rules& rules, const Json& ceilings) {
  Json result = Json::object();
  for (const auto& mode : extra_modes()) {
    if (Json found = measured_in(run, id, rules, ceilings, mode); !found.is_null())
      result[mode] = std::move(found);
  }
  return result;
}

}  // namespace ampgate::results
