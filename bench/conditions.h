// The conditions under which a cell was timed, and whether they disturbed it: by the word of counters beside
// the measurement, never by the time that was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/host_state.h"
#include "results/json.h"

namespace ampgate::bench {

struct Conditions {
  backends::HostState host;
  backends::Telemetry device;
  std::int64_t at_ns = 0;     // when the host was asked, of the steady clock
  std::int64_t probe_ns = 0;  // shortest of a few runs of a fixed chain of dependent additions: 1 / clock
};

Conditions conditions(backends::Backend& backend);

// What a record keeps of one moment: load, memory, and what the device tells.
results::Json to_json(const Conditions& now);

// Watches the cells of one process.
class DisturbanceWatch {
 public:
  explicit DisturbanceWatch(backends::Backend& backend);

  void begin();
  // Why what ran since begin() was disturbed, in words; empty: nothing is known against it.
  std::string end();

  // What the device told after the last cell: clock, temperature, power; without what it does not tell.
  results::Json device() const;
  // {"before", "after"}: this process's first and last moment; where the device tells them, the extremes in
  // between.
  results::Json summary() const;

 private:
  backends::Backend& backend_;
  const Conditions first_;
  Conditions before_;
  Conditions after_;
  std::vector<std::int64_t> probes_;
  std::optional<double> slowest_clock_mhz_;
  std::optional<double> highest_temperature_c_;
  std::optional<double> highest_power_w_;
};

// The rule behind DisturbanceWatch, on two moments; `usual_probe_ns` is the median of this process's probes.
std::string disturbance(const Conditions& before, const Conditions& after, std::int64_t usual_probe_ns);

}  // namespace ampgate::bench
