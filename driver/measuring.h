// Phase 2: fresh bench processes measure what the gate lets through; a last one looks at memory and
// operators.
#pragma once

#include <map>
#include <string>

#include "driver/context.h"

namespace ampgate::driver {

// Processes and blocks of the bench phase, fixed before it runs.
struct Schedule {
  int processes = 3;
  int blocks = 7;         // per process
  bool precise = false;   // look after each round of processes, and go on until the intervals are narrow
  double budget_s = 0.0;  // with `precise`
  double cell_time_ms = 0.0;
};

results::Json to_json(const Schedule& schedule);
Schedule schedule_from(const results::Json& json);

inline constexpr double kPreciseHalfWidth = 0.01;

// Trials whose evidence does not let them through here, with the gate's reason. `observed_device`: {"uuid",
// "model"} as seen by this run, empty where it is the evidence's own process chain.
std::map<std::string, std::string> gate_refusals(const Context& context,
                                                 const results::Json& observed_device);

// Returns why it ended, in words for the record.
std::string measure_trials(Context& context, const Schedule& schedule,
                           const std::map<std::string, std::string>& refusals);

void inspect_trials(Context& context);

}  // namespace ampgate::driver
