#include "results/overhead.h"

#include <cstdint>
#include <cstdio>
#include <vector>

#include "results/estimate_json.h"
#include "results/samples.h"

namespace ampgate::results {
namespace {

// At this share of the time there is more to say about LibTorch than about the device.
constexpr double kBound = 0.5;
// Of the device's time; the device waits for the host, or nearly so.
constexpr double kLaunchBound = 0.9;

// The samples `key` of the object `overhead` in each process's answer.
std::vector<Sample> samples_of(const RunData& run, const std::string& id, const char* key) {
  std::vector<Sample> samples;
  for (const auto& process : run.bench) {
    if (mode_of(process) != kWarm) continue;
    const auto answer = process.at("trials").find(id);
    if (answer == process.at("trials").end() || !answer->contains("overhead")) continue;
    int number = 0;
    for (const auto& value : answer->at("overhead").value(key, Json::array())) {
      // A difference of two times may come out as nothing, which has no logarithm.
      const double ns = value.get<double>();
      if (ns > 0) samples.push_back({process.at("process").get<int>(), number, ns, 1});
      ++number;
    }
  }
  return samples;
}

// What says how sure a value is; blocks have no order here.
Json brief(const Estimate& estimate, const char* value_name, double level) {
  Json json = to_json(estimate, value_name, level);
  Json result;
  for (const auto* key : {value_name, "interval", "level", "mad", "samples", "processes", "method"}) {
    if (json.contains(key)) result[key] = json.at(key);
  }
  if (!estimate.interval) result["absent"] = {{"interval", estimate.method}};
  return result;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

void add_dispatch_share(Json& overhead, const Json& measurement, double call_ns, double dispatch_ns,
                        const Estimate& time) {
  if (!measurement.contains("audit") || !measurement["audit"].contains("dispatches")) {
    overhead["absent"]["share"] = "no audit counted the operators of a call";
    return;
  }
  const auto dispatches = measurement["audit"]["dispatches"].get<std::int64_t>();
  const double scope_ns = call_ns > dispatch_ns ? call_ns - dispatch_ns : 0.0;
  const double share = (scope_ns + static_cast<double>(dispatches) * dispatch_ns) / time.value;
  overhead["dispatches"] = dispatches;
  overhead["share"] = share;
  if (share < kBound) return;
  overhead["in_words"] = "dispatch-bound: " + std::to_string(dispatches) +
                         " operators through the dispatcher cost about " + percent(share) +
                         " of this time, so it says little about the arithmetic";
}

void add_launch(Json& overhead, const RunData& run, const std::string& id, double level) {
  const auto host = samples_of(run, id, "host_ns");
  const auto device = samples_of(run, id, "device_ns");
  if (host.empty() || device.empty()) {
    overhead["absent"]["host_ns"] = "the host computes itself: there is one time";
    return;
  }
  const Estimate host_time = median_time(host, level);
  const Estimate device_time = median_time(device, level);
  overhead["host_ns"] = brief(host_time, "median", level);
  overhead["device_ns"] = brief(device_time, "median", level);
  if (host_time.value < kLaunchBound * device_time.value) return;
  overhead["launch_in_words"] = "launch-bound: handing a call over takes the host " +
                                percent(host_time.value / device_time.value) +
                                " of the device's time, so the device waits for the host";
}

}  // namespace

void add_overhead(Json& measurement, const RunData& run, const std::string& id, const Estimate& time,
                  double level) {
  const auto calls = samples_of(run, id, "call_ns");
  const auto dispatches = samples_of(run, id, "dispatch_ns");
  if (calls.empty() || dispatches.empty()) {
    measurement["absent"]["overhead"] = "no process said what an empty operator takes";
    return;
  }
  const Estimate call = median_time(calls, level);
  const Estimate dispatch = median_time(dispatches, level);
  Json overhead{{"call_ns", brief(call, "median", level)}, {"dispatch_ns", brief(dispatch, "median", level)}};
  add_dispatch_share(overhead, measurement, call.value, dispatch.value, time);
  add_launch(overhead, run, id, level);
  measurement["overhead"] = std::move(overhead);
}

void add_casts(Json& measurement, const std::string& id, const Json& inspected, double level) {
  if (!inspected.contains("casts")) {
    measurement["absent"]["casts"] =
        id.find("/cast-") != std::string::npos || id.ends_with("/fp32") || id.ends_with("/tf32")
            ? "this precision has no autocast"
            : "the inspecting process gave no answer for this trial";
    return;
  }
  const Json& casts = inspected.at("casts");
  Json result{{"count", casts.at("count")},
              {"observed", "with an observer on, which lengthens short operators; one process"}};
  std::vector<Sample> shares;
  for (const auto& share : casts.at("shares")) {
    if (share.get<double>() > 0)
      shares.push_back({0, static_cast<int>(shares.size()), share.get<double>(), 1});
  }
  if (casts.at("count") == 0 || shares.empty()) {
    result["share"] = {{"value", 0.0}, {"samples", casts.at("shares").size()}};
  } else {
    result["share"] = brief(median_time(shares, level), "value", level);
  }
  measurement["casts"] = std::move(result);
}

}  // namespace ampgate::results
