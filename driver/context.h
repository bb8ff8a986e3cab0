// What every phase of a run needs: workers, rules, trials, the journal that it writes, the progress that it
// shows.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "driver/plan.h"
#include "driver/terminal.h"
#include "driver/turns.h"
#include "driver/worker.h"
#include "results/journal.h"
#include "results/rules.h"
#include "results/verdict.h"

namespace ampgate::driver {

struct Context {
  WorkerSetup workers;
  results::Rules rules;
  results::Journal& journal;
  Progress& progress;
  std::vector<Trial> trials;
  Estimate estimate;
  Turns* turns = nullptr;  // with other runs; null: alone

  const results::RunData& data() const { return journal.data(); }
};

// Does `work`, at this run's turn where it takes turns; `turn` is null where it does not.
void in_turn(Context& context, const std::function<void(const results::Json& turn)>& work);

// The trials that stand together under one case and shape, in the plan's order.
std::vector<std::vector<Trial>> groups(const std::vector<Trial>& trials);

// The verdict that a trial has so far.
results::Verdict verdict_of(const Context& context, const Trial& trial);
bool opens_gate(const Context& context, const Trial& trial);

// A worker's plan of this phase without its trials.
results::Json worker_plan(const Context& context, const std::string& phase, int process);

// Where training trials keep their checkpoints: beside the record, and named after it. Absolute.
std::filesystem::path checkpoint_folder(const results::Journal& journal);

// A trial as in worker plans, without evidence.
results::Json planned(const Trial& trial);

// Takes note of what a worker says about device, LibTorch and settings, once.
void note_environment(Context& context, const results::Json& event);

// An event without its name.
results::Json body_of(const results::Json& event);

// Counts worker processes that ended without having moved anything. Throws results::EnvironmentError at the
// second in a row: the fault is not a trial's.
class Respawns {
 public:
  explicit Respawns(const Context& context) : context_(context) {}
  void note(bool progress, const Ending& ending);

 private:
  const Context& context_;
  int fruitless_ = 0;
};

}  // namespace ampgate::driver
