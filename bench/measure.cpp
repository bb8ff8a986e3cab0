#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "bench/admission.h"
#include "bench/beyond_caches.h"
#include "bench/cell.h"
#include "bench/conditions.h"
#include "bench/error_text.h"
#include "bench/overhead.h"
#include "bench/schedule.h"
#include "bench/surroundings.h"
#include "bench/trial_scope.h"
#include "cases/threads.h"

namespace ampgate::bench {
namespace {

using results::Json;
using results::MeasurementVerdict;
using Clock = std::chrono::steady_clock;

// Records keep every call of these cells: more add little to a percentile.
constexpr std::int64_t kMostLatencyCalls = 100;
// Whoever reads our events is awake for so long after each: on the same processors it would disturb the cell.
constexpr std::chrono::microseconds kReadersTurn{300};
// A cell that lasts less than this part of what was asked for had too few calls; it grows at most so much at
// once.
constexpr std::int64_t kMuchShorter = 3;
constexpr std::int64_t kMostLengthened = 1000;
// Emptying the caches takes longer than most calls.
constexpr std::int64_t kMostColdCalls = 3;

std::unique_ptr<backends::MemoryPasses> flush_for(Mode mode, backends::Backend& backend) {
  if (mode != Mode::kCold) return nullptr;
  return backend.memory_passes(bytes_beyond_caches(backend));
}

// The trials of one case and shape on their way through calibration, blocks and check.
class GroupRun {
 public:
  GroupRun(const Plan& plan, backends::Backend& backend, backends::Timer& timer, results::EventWriter& events)
      : plan_(plan),
        backend_(backend),
        timer_(timer),
        events_(events),
        watch_(backend),
        flush_(flush_for(plan.schedule.mode, backend)) {
    totals_.clock_ns = clock_time_ns(timer);
  }

  void run(const Group& group) {
    began_ = Clock::now();
    events_.write("heartbeat");
    const cases::ThreadsScope threads(threads_of(group));
    admission_ = admit(plan_, group, backend_);
    for (const auto& away : admission_.turned_away) finish(away.trial->id, away.verdict, away.reason);
    runs_.clear();
    for (auto& subject : admission_.subjects) runs_.push_back({subject.get()});

    const auto warm_up = Clock::now();
    for (auto& trial : runs_) guarded(trial, [&] { choose_length(trial); });
    const std::string key = group_key(group);
    if (plan_.schedule.mode == Mode::kSustained) {
      run_sustained(key);
    } else {
      run_blocks(key, Clock::now() - warm_up);  // a call or more of each trial, as a block is
    }
    for (auto& trial : runs_) guarded(trial, [&] { check(trial); });
  }

  ProcessTotals totals() const {
    ProcessTotals totals = totals_;
    totals.conditions = watch_.summary();
    return totals;
  }

 private:
  struct TrialRun {
    Subject* subject;
    std::int64_t calls = 0;
    bool alive = true;
    Json sustained{};  // what a sustained run adds to the answer
    const std::string& id() const { return subject->trial().id; }
    Body& body() const { return subject->body(); }
  };

  static std::string group_key(const Group& group) {
    std::string key = group.case_name;
    for (const auto size : group.sizes) key += "/" + std::to_string(size);
    return key;
  }

  // Runs `work` in the trial's numerics; what it throws is the trial's verdict.
  template <typename Work>
  void guarded(TrialRun& trial, Work&& work) {
    if (!trial.alive) return;
    events_.write("trial_started", {{"id", trial.id()}});
    try {
      const TrialScope scope(trial.subject->trial());
      work();
    } catch (const std::exception& error) {
      trial.alive = false;
      finish(trial.id(), MeasurementVerdict::kCrashed, error_text(error));
    }
  }

  void choose_length(TrialRun& trial) {
    if (!is_right(trial, trial.subject->begin())) return;
    trial.calls = choose_calls(
        plan_.schedule.cell_time_ns, totals_.clock_ns,
        [&](std::int64_t calls) {
          trial.body().prepare(calls);
          return time_calls(trial.body(), calls, timer_, {}).time_ns;
        },
        trial.body().most_calls());
    trial.calls = std::min(trial.calls, most_calls(trial));
  }

  std::int64_t most_calls(const TrialRun& trial) const {
    const std::int64_t most = trial.body().most_calls();
    if (plan_.schedule.mode == Mode::kLatency) return std::min(most, kMostLatencyCalls);
    return plan_.schedule.mode == Mode::kCold ? std::min(most, kMostColdCalls) : most;
  }

  bool is_too_short(const TrialRun& trial, const CellPlan& plan, const Cell& cell) const {
    // Calls may be a little faster than in the warm-up.
    const std::int64_t least = kClockShare * totals_.clock_ns * 4 / 5;
    return !plan.each_call && cell.time_ns < least && cell.calls < most_calls(trial);
  }

  // A warm-up that was disturbed took calls for slower than they are: the next cell gets more of them.
  void lengthen(TrialRun& trial, const Cell& cell) const {
    if (kMuchShorter * cell.time_ns >= plan_.schedule.cell_time_ns || cell.time_ns < 1) return;
    const std::int64_t factor = std::min(plan_.schedule.cell_time_ns / cell.time_ns, kMostLengthened);
    trial.calls = std::min(factor * trial.calls, most_calls(trial));
  }

  // Disturbed blocks are measured again, at most as many as were asked for; the record keeps both. Where time
  // is limited, the first block runs in any case, and further ones as long as they are expected to end in it;
  // `took` is what a block is expected to take.
  void run_blocks(const std::string& key, Clock::duration took) {
    int left = plan_.schedule.blocks;
    int replacements = plan_.schedule.blocks;
    for (int block = plan_.schedule.first_block; left > 0; ++block) {
      const auto begin = Clock::now();
      const bool no_other = !has_time_for(2 * took);
      const bool disturbed = run_block(key, block, left == 1 || no_other);
      if (no_other) return;
      if (disturbed && replacements > 0) {
        --replacements;
      } else {
        --left;
      }
      took = Clock::now() - begin;
    }
  }

  bool has_time_for(Clock::duration time) const {
    const auto& limit = plan_.schedule.group_time_ns;
    return !limit || Clock::now() - began_ + time < std::chrono::nanoseconds(*limit);
  }

  // True: a cell of it was disturbed.
  bool run_block(const std::string& key, int block, bool last) {
    bool disturbed = false;
    int order = 0;
    for (const std::size_t next :
         block_order(plan_.schedule.order_seed, key, plan_.process, block, runs_.size())) {
      auto& trial = runs_[next];
      guarded(trial, [&] { disturbed = !run_one_cell(trial, block, order, last).empty() || disturbed; });
      ++order;
    }
    return disturbed;
  }

  // Each trial alone, cell after cell, as long as asked.
  void run_sustained(const std::string& key) {
    int order = 0;
    for (const std::size_t next : block_order(plan_.schedule.order_seed, key, plan_.process,
                                              plan_.schedule.first_block, runs_.size())) {
      auto& trial = runs_[next];
      const auto begin = Clock::now();
      const auto energy_before = backend_.telemetry().energy_j;
      std::int64_t calls = 0;
      for (int block = plan_.schedule.first_block;
           trial.alive && Clock::now() - begin < std::chrono::nanoseconds(plan_.schedule.sustained_time_ns);
           ++block) {
        guarded(trial, [&] { run_one_cell(trial, block, order, false); });
        calls += trial.calls + lead_in_calls(trial.calls);
      }
      const auto energy_after = backend_.telemetry().energy_j;
      if (energy_before && energy_after && *energy_after > *energy_before && calls > 0) {
        trial.sustained = {{"energy_j", *energy_after - *energy_before}, {"energy_calls", calls}};
      }
      ++order;
    }
  }

  // Why the cell was disturbed; empty: nothing is known against it. The outputs of a `last` cell are looked
  // at in any case.
  std::string run_one_cell(TrialRun& trial, int block, int order, bool last) {
    const Mode mode = plan_.schedule.mode;
    const CellPlan plan{trial.calls, mode == Mode::kLatency || mode == Mode::kCold, flush_.get()};
    std::this_thread::sleep_for(kReadersTurn);
    watch_.begin();
    const Cell cell = run_cell(trial.id(), trial.body(), plan, backend_, timer_);
    std::string disturbance = watch_.end();
    totals_.timed_ns += cell.time_ns;
    if (disturbance.empty() && is_too_short(trial, plan, cell))
      disturbance = "the warm-up was disturbed: reading the clock is more than 0.1 % of this cell";
    lengthen(trial, cell);
    Json sample{{"id", trial.id()},
                {"process", plan_.process},
                {"block", block},
                {"order", order},
                {"calls", cell.calls},
                {"time_ns", cell.time_ns},
                {"page_faults", cell.page_faults}};
    if (cell.applied) sample["applied"] = *cell.applied;
    if (!disturbance.empty()) sample["disturbed"] = disturbance;
    if (!cell.call_times_ns.empty()) sample["call_times_ns"] = cell.call_times_ns;
    if (mode == Mode::kSustained) sample["device"] = watch_.device();
    events_.write("sample", sample);
    is_right(trial, trial.subject->look(cell, last));
    return disturbance;
  }

  void check(TrialRun& trial) {
    Subject& subject = *trial.subject;
    if (!is_right(trial, subject.check({plan_.schedule.order_seed, plan_.process, trial.calls}))) return;
    if (auto reason = unlike_validation(subject.body(), subject.trial().evidence, plan_.schedule.mode);
        !reason.empty()) {
      return finish(trial.id(), MeasurementVerdict::kRefused, "after the timed calls, " + reason);
    }
    Json fields = answer_fields(trial);
    fields["overhead"] = to_json(measure_overhead(subject.body(), trial.calls, timer_));
    finish(trial.id(), MeasurementVerdict::kMeasured, "", fields);
  }

  // Where something is wrong, it is the trial's answer.
  bool is_right(TrialRun& trial, const std::string& problem) {
    if (problem.empty()) return true;
    trial.alive = false;
    finish(trial.id(), MeasurementVerdict::kOutputChanged, problem, answer_fields(trial));
    return false;
  }

  static Json answer_fields(const TrialRun& trial) {
    Json fields = trial.subject->answer();
    if (trial.calls > 0) fields["calls_per_cell"] = trial.calls;
    if (!trial.sustained.is_null()) fields.update(trial.sustained);
    return fields;
  }

  void finish(const std::string& id, MeasurementVerdict verdict, const std::string& reason,
              const Json& fields = Json::object()) {
    Json body = {{"id", id}, {"verdict", results::to_string(verdict)}, {"reason", reason}};
    body.update(fields);
    events_.write("trial_finished", body);
  }

  const Plan& plan_;
  backends::Backend& backend_;
  backends::Timer& timer_;
  results::EventWriter& events_;
  DisturbanceWatch watch_;
  std::unique_ptr<backends::MemoryPasses> flush_;  // of mode `cold`
  Clock::time_point began_;                        // the group at hand
  Admission admission_;
  std::vector<TrialRun> runs_;
  ProcessTotals totals_;
};

}  // namespace

ProcessTotals measure(const Plan& plan, backends::Backend& backend, results::EventWriter& events) {
  const auto timer = backend.timer();
  GroupRun run(plan, backend, *timer, events);
  for (const auto& group : plan.groups) run.run(group);
  return run.totals();
}

}  // namespace ampgate::bench
