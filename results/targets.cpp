#include "results/targets.h"

#include <optional>
#include <string_view>

#include "results/pattern.h"
#include "results/significant.h"
#include "results/verdict.h"

namespace ampgate::results {
namespace {

struct Floor {
  const char* name;      // in the rules
  const char* measured;  // in the measurement
  const char* unit;
  std::optional<double> least;
};

// "met", "missed" or "not shown", by the interval of what was measured.
std::string outcome(const Json& measured, double least) {
  if (!measured.contains("interval")) return "not shown";
  if (measured["interval"][0].get<double>() >= least) return "met";
  return measured["interval"][1].get<double>() < least ? "missed" : "not shown";
}

void judge(Json& measurement, const std::string& trials, const Floor& floor, const std::string& unclear) {
  Json entry{{"trials", trials}, {"floor", floor.name}, {"least", *floor.least}};
  if (!measurement.contains(floor.measured)) {
    entry["outcome"] = "not shown";
    entry["absent"] = {{"value", "this trial has no " + std::string(floor.measured)}};
  } else if (measurement[floor.measured].value("not_lowered", false)) {
    entry["outcome"] = "not shown";
    entry["absent"] = {{"value", "not lowered: autocast left every operator in FP32"}};
  } else {
    entry["value"] = measurement[floor.measured].at("value");
    entry["outcome"] = unclear.empty() ? outcome(measurement[floor.measured], *floor.least) : "not shown";
  }
  const auto verdict = measurement.at("verdict").get<std::string>();
  const std::string asked = std::string(floor.name) + " of " + trials + ": at least " +
                            significant(*floor.least) + floor.unit + " asked, ";
  const auto seen = [&] { return significant(entry.at("value").get<double>()) + floor.unit + " measured"; };
  if (entry["outcome"] == "missed" && verdict != "below-target") {
    measurement["verdict"] = to_string(MeasurementVerdict::kBelowTarget);
    measurement["reason"] = asked + seen();
  } else if (entry["outcome"] == "not shown" && verdict == "measured") {
    measurement["verdict"] = to_string(MeasurementVerdict::kAmbiguous);
    measurement["reason"] =
        asked + (entry.contains("value") ? seen() + ", and its interval does not tell the two apart"
                                         : entry["absent"]["value"].get<std::string>());
  }
  measurement["targets"].push_back(std::move(entry));
}

}  // namespace

std::string device_model(const RunData& run) {
  const Json::json_pointer model("/device/model");
  if (!run.environment.is_object() || !run.environment.contains(model)) return "";
  return run.environment.at(model).get<std::string>();
}

void add_targets(Json& measurement, const RunData& run, const std::string& id, const Rules& rules,
                 const std::string& unclear) {
  const std::string model = device_model(run);
  for (const auto& [device, trials] : rules.targets) {
    if (!matches(device, model)) continue;
    for (const auto& [pattern, floors] : trials) {
      if (!matches(pattern, id)) continue;
      const bool is_baseline = id.ends_with("/fp32");  // its speed-up over itself is no target
      for (const Floor& floor :
           {Floor{"min_tflops", "tflops", " TFLOP/s", floors.min_tflops},
            Floor{"min_gbps", "gbps", " GB/s", floors.min_gbps},
            Floor{"min_speedup_over_fp32", "speedup_over_fp32", "", floors.min_speedup_over_fp32}}) {
        const bool of_itself = is_baseline && std::string_view(floor.name) == "min_speedup_over_fp32";
        if (floor.least && !of_itself) judge(measurement, pattern, floor, unclear);
      }
    }
  }
  if (!measurement.contains("targets"))
    measurement["absent"]["targets"] =
        "the rules hold no floor for this trial on " + (model.empty() ? "this device" : model);
}

}  // namespace ampgate::results
