#include "bench/conditions.h"

#include <algorithm>
#include <chrono>

namespace ampgate::bench {
namespace {

using results::Json;

constexpr double kNoticeable = 0.01;  // of the time measured: what may be lost unmarked
constexpr double kSlowClock = 1.10;   // turbo clocks wander by less
// A thread that slept waits for its CPU at each wake-up, in an idle machine too: 0.1 us in the mean where it
// sleeps a thousand times in a cell, up to 25 us where it sleeps once. All together were below 3 % of a cell.
constexpr double kWakeUpNs = 25e3;
constexpr double kWakeUps = 0.05;            // of the time measured
constexpr int kProbes = 3;                   // the shortest counts: an interrupt only lengthens
constexpr std::int64_t kAdditions = 40'000;  // about 10 us
constexpr std::size_t kFewestProbes = 5;     // before a median says what is usual

std::int64_t probe_ns() {
  std::int64_t shortest = 0;
  for (int i = 0; i < kProbes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t value = 1;
    for (std::int64_t n = 0; n < kAdditions; ++n) {
      value += static_cast<std::uint64_t>(n);
      asm volatile("" : "+r"(value));  // each addition waits for the last
    }
    const std::int64_t time =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
            .count();
    if (i == 0 || time < shortest) shortest = time;
  }
  return shortest;
}

// Share of the time that threads may wait for a CPU that nobody holds.
double usual_wake_ups(const backends::HostState& before, const backends::HostState& after, double elapsed) {
  return std::min(kWakeUps, static_cast<double>(after.turns - before.turns) * kWakeUpNs / elapsed);
}

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share + 0.5)) + " %"; }

template <typename Value>
void put(Json& json, const char* name, const std::optional<Value>& value) {
  if (value) json[name] = *value;
}

Json to_json(const backends::Telemetry& device) {
  Json json = Json::object();
  put(json, "clock_mhz", device.clock_mhz);
  put(json, "temperature_c", device.temperature_c);
  put(json, "power_w", device.power_w);
  put(json, "throttled", device.throttled);
  return json;
}

}  // namespace

Conditions conditions(backends::Backend& backend) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {backends::host_state(), backend.telemetry(),
          std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(), probe_ns()};
}

Json to_json(const Conditions& now) {
  Json json{{"load", now.host.load},
            {"memory_available_bytes", now.host.memory_available_bytes},
            {"steal_ns", now.host.steal_ns},
            {"preemptions", now.host.preemptions},
            {"probe_ns", now.probe_ns}};
  put(json, "memory_stall_us", now.host.memory_stall_us);
  json.update(to_json(now.device));
  put(json, "throttle_events", now.device.throttle_events);
  return json;
}

std::string disturbance(const Conditions& before, const Conditions& after, std::int64_t usual_probe_ns) {
  // All that the counters counted, so also what was done around the cell between the two readings.
  const auto elapsed = static_cast<double>(std::max<std::int64_t>(after.at_ns - before.at_ns, 1));
  std::vector<std::string> reasons;
  const double stolen = static_cast<double>(after.host.steal_ns - before.host.steal_ns) / elapsed;
  if (stolen > kNoticeable) reasons.push_back("the hypervisor took " + percent(stolen) + " of a CPU's time");
  const double waited = static_cast<double>(after.host.run_delay_ns - before.host.run_delay_ns) / elapsed;
  const bool preempted = after.host.preemptions > before.host.preemptions;
  if (waited - (preempted ? 0 : usual_wake_ups(before.host, after.host, elapsed)) > kNoticeable) {
    reasons.push_back("threads waited for a CPU that another process held, " + percent(waited) +
                      " of the time together");
  }
  if (before.host.memory_stall_us && after.host.memory_stall_us) {
    const double stalled =
        1e3 * static_cast<double>(*after.host.memory_stall_us - *before.host.memory_stall_us) / elapsed;
    if (stalled > kNoticeable) reasons.push_back("processes waited for memory for " + percent(stalled));
  }
  if (after.device.throttle_events > before.device.throttle_events)
    reasons.emplace_back("throttled for heat");
  const std::string slowed = after.device.throttled.value_or("");
  // A power limit is how such a device runs under load, not an accident.
  if (!slowed.empty() && slowed != "power limit") reasons.push_back("throttled: " + slowed);
  const auto slower = static_cast<double>(std::min(before.probe_ns, after.probe_ns));
  if (usual_probe_ns > 0 && slower > kSlowClock * static_cast<double>(usual_probe_ns)) {
    reasons.push_back("the CPU's clock was " + percent(1 - static_cast<double>(usual_probe_ns) / slower) +
                      " slower than usual");
  }
  std::string text;
  for (const auto& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

DisturbanceWatch::DisturbanceWatch(backends::Backend& backend)
    : backend_(backend), first_(conditions(backend)) {}

void DisturbanceWatch::begin() { before_ = conditions(backend_); }

std::string DisturbanceWatch::end() {
  after_ = conditions(backend_);
  const auto keep = [](std::optional<double>& kept, const std::optional<double>& now, bool larger) {
    if (now && (!kept || (larger ? *now > *kept : *now < *kept))) kept = now;
  };
  keep(slowest_clock_mhz_, after_.device.clock_mhz, false);
  keep(highest_temperature_c_, after_.device.temperature_c, true);
  keep(highest_power_w_, after_.device.power_w, true);
  probes_.push_back(after_.probe_ns);
  std::int64_t usual = 0;
  if (probes_.size() >= kFewestProbes) {
    auto sorted = probes_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    usual = *middle;
  }
  return disturbance(before_, after_, usual);
}

Json DisturbanceWatch::device() const { return to_json(after_.device); }

Json DisturbanceWatch::summary() const {
  Json json{{"before", to_json(first_)}, {"after", to_json(conditions(backend_))}};
  put(json, "slowest_clock_mhz", slowest_clock_mhz_);
  put(json, "highest_temperature_c", highest_temperature_c_);
  put(json, "highest_power_w", highest_power_w_);
  return json;
}

}  // namespace ampgate::bench
