// Phase 2: fresh bench processes measure what the gate lets through; a last one looks at memory and
// operators.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/context.h"

namespace ampgate::driver {

// Processes and blocks of the bench phase, fixed before it runs.
struct Schedule {
  int processes = 3;                          // until the first look
  int blocks = 7;                             // per process
  std::optional<double> target_half_width{};  // look again and again, until the intervals are so narrow
  double budget_s = 0.0;                      // with a target
  double cell_time_ms = 0.0;
  std::vector<std::string> extra_modes{};  // beside `warm`, as results/samples.h names them
  double sustained_s = 30.0;
};

results::Json to_json(const Schedule& schedule);
Schedule schedule_from(const results::Json& json);

// Trials whose evidence does not let them through here, with the gate's reason. `observed_device`: {"uuid",
// "model"} as seen by this run, empty where it is the evidence's own process chain.
std::map<std::string, std::string> gate_refusals(const Context& context,
                                                 const results::Json& observed_device);

// Returns why it ended, in words for the record.
std::string measure_trials(Context& context, const Schedule& schedule,
                           const std::map<std::string, std::string>& refusals);

void inspect_trials(Context& context);

// What the device reaches in plain work. A worker that cannot say leaves the record without.
void measure_ceilings(Context& context);

}  // namespace ampgate::driver
