#include "results/estimate_json.h"

#include <cstdio>

#include "results/significant.h"

namespace ampgate::results {
namespace {

Json interval_json(const Interval& interval) { return Json::array({interval.low, interval.high}); }

}  // namespace

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

Json to_json(const Latency& latency, double level) {
  Json json{{"calls", latency.calls},
            {"processes", latency.processes},
            {"level", level},
            {"min_ns", latency.min_ns},
            {"max_ns", latency.max_ns}};
  for (const auto& percentile : latency.percentiles) {
    const std::string name =
        "p" + std::to_string(static_cast<int>(100 * percentile.probability + 0.5)) + "_ns";
    if (!percentile.time_ns) {
      json["absent"][name] = percentile.method;
      continue;
    }
    Json entry{{"value", *percentile.time_ns}, {"method", percentile.method}};
    if (percentile.interval) {
      entry["interval"] = interval_json(*percentile.interval);
    } else {
      entry["absent"] = {{"interval", percentile.method}};
    }
    json[name] = std::move(entry);
  }
  return json;
}

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

std::string say_speedup(const Estimate& speedup) {
  if (!speedup.interval) return "not clear: " + speedup.method;
  if (speedup.interval->low <= 1.0 && speedup.interval->high >= 1.0) return "no difference to fp32 shown";
  if (speedup.value >= 1.0) return significant(speedup.value) + " times as fast as fp32";
  return significant(1.0 / speedup.value) + " times slower than fp32";
}

std::string say_fp16_to_bf16(const Estimate& estimate) {
  if (!estimate.interval) return "not clear: " + estimate.method;
  const std::string text = "FP16 takes " + significant(estimate.value) + " times BF16's time";
  if (estimate.interval->high < 1.0) return text + ": FP16 is faster";
  if (estimate.interval->low > 1.0) return text + ": BF16 is faster";
  return text + ": no difference shown";
}

}  // namespace ampgate::results
