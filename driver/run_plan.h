// A run before it begins: everything that its journal fixes in the first line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/child_environment.h"
#include "driver/measuring.h"
#include "driver/options.h"
#include "driver/plan.h"
#include "driver/worker_folder.h"
#include "results/rules.h"

namespace ampgate::driver {

struct RunPlan {
  std::string command;
  std::string device;
  std::string suite;
  std::uint64_t seed = 1;
  results::Json settings;
  std::vector<Trial> trials;
  std::vector<std::string> phases;  // of validate, repeat, bench, inspect
  Schedule schedule;
  results::Rules rules;
  results::Json rules_file;       // {"name", "sha256"}; null: the built-in rules
  results::Json evidence_source;  // bench: {"path", "digest", "id"}
  results::Json observed_device;  // bench: {"uuid", ...} as seen now
  results::Json own_shapes;       // where the user's own sizes come from; null: a suite's
  results::Json sweep;            // range and points; null: none
};

// The rules that the options name, else the built-in ones, with what cases of files ask for where they say
// nothing. Throws results::FileError, also for a case that no worker of this manifest has.
void load_rules(const Options& options, const Manifest& manifest, RunPlan& plan);

// Processes, blocks and cells by options and by the plan's device, suite and rules.
Schedule make_schedule(const Options& options, const RunPlan& plan);

// Those that measure. The device's ceilings take longer than all of `smoke`, whose times are rough anyway.
std::vector<std::string> measuring_phases(const std::string& suite);

// Throws results::UsageError for a time budget that is spent before the first look.
void check_budget(const RunPlan& plan);

// What a run takes at least, of any shapes: starting processes, the smallest trials, the cells that the
// schedule asks for. What large shapes add depends on the device and is known when they ran.
Estimate estimate(const std::vector<Trial>& trials, const std::vector<std::string>& phases,
                  const Schedule& schedule);

// The first line of the journal.
results::Json journal_header(const RunPlan& plan, const Options& options, const WorkerFolder& folder,
                             const ChildEnvironment& environment);

// Throws results::FileError when plan or rules are not those whose digests stand beside them.
void check_digests(const results::Json& header, const std::string& where);

}  // namespace ampgate::driver
