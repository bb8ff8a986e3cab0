// One worker process from start to end: its plan, its events, its time limits. docs/protocol.md is the
// contract.
#pragma once

#include <string>

#include "driver/child_environment.h"
#include "driver/conversation.h"
#include "driver/process.h"
#include "driver/worker_folder.h"
#include "results/json.h"

namespace ampgate::driver {

struct WorkerSetup {
  const WorkerFolder* folder = nullptr;
  ChildEnvironment environment;
  std::filesystem::path log;
  double trial_limit_s = 120.0;
  Clock::time_point phase_deadline = Clock::time_point::max();
};

// How a worker process ended. `answered`: it wrote `done` and exited with 0.
struct Ending {
  bool answered = false;
  bool timed_out = false;
  bool phase_over = false;  // the phase's deadline passed: the trial in flight is not to blame
  std::string in_flight{};  // the trial that was started and got no event since; empty: none
  std::string reason{};     // why it did not answer, in words
  results::Json done{};     // the event `done`
};

// Runs the worker that the plan's phase asks for. A crash or a silence past the limit is an Ending. Throws
// results::EnvironmentError for a worker that breaks the protocol or is of another build, the worker's own
// error for an event `error` or an exit with kUsage or kEnvironment, and Interrupted.
Ending run_worker(const WorkerSetup& setup, const results::Json& plan, const EventSink& sink);

// What `ampgate-validate WORD` prints, given `input`. Throws results::EnvironmentError when it is not one
// JSON document, and the worker's own words as results::UsageError when it exits with kUsage.
results::Json ask_worker(const WorkerSetup& setup, const std::string& word, const std::string& input = {});

}  // namespace ampgate::driver
