#include "bench/measure.h"

#include <memory>
#include <string>

#include "bench/admission.h"
#include "bench/cell.h"
#include "bench/error_text.h"
#include "bench/numerics.h"
#include "bench/output_check.h"
#include "bench/schedule.h"
#include "cases/execute.h"
#include "precision/region.h"

namespace ampgate::bench {
namespace {

using results::Json;
using results::MeasurementVerdict;

// The trials of one case and shape on their way through calibration, blocks and check.
class GroupRun {
 public:
  GroupRun(const Plan& plan, backends::Backend& backend, backends::Timer& timer, results::EventWriter& events)
      : plan_(plan), backend_(backend), timer_(timer), clock_ns_(clock_time_ns(timer)), events_(events) {}

  void run(const Group& group) {
    events_.write("heartbeat");
    admission_ = admit(plan_, group, backend_);
    for (const auto& away : admission_.turned_away) finish(away.trial->id, away.verdict, away.reason);
    runs_.clear();
    for (auto& subject : admission_.subjects) runs_.push_back({&subject, admission_.body(subject, backend_)});

    for (auto& trial : runs_) guarded(trial, [&] { choose_length(trial); });
    const std::string key = group_key(group);
    for (int block = plan_.schedule.first_block; block < plan_.schedule.first_block + plan_.schedule.blocks;
         ++block) {
      run_block(key, block);
    }
    for (auto& trial : runs_) guarded(trial, [&] { check(trial); });
  }

  std::int64_t timed_ns() const { return timed_ns_; }

 private:
  struct TrialRun {
    Subject* subject;
    Body body;
    std::int64_t calls = 0;
    bool alive = true;
    const std::string& id() const { return subject->trial->id; }
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
      const auto numerics = numerics_scope(*trial.body.precision);
      const precision::IslandScope islands(trial.subject->trial->islands);
      work();
    } catch (const std::exception& error) {
      trial.alive = false;
      finish(trial.id(), MeasurementVerdict::kCrashed, error_text(error));
    }
  }

  void choose_length(TrialRun& trial) {
    run_calls(trial.body, 1);  // primitives, workspaces, pages
    backend_.synchronize();
    trial.calls = choose_calls(plan_.schedule.cell_time_ns, clock_ns_,
                               [&](std::int64_t calls) { return time_calls(trial.body, calls, timer_); });
  }

  void run_block(const std::string& key, int block) {
    int order = 0;
    for (const std::size_t next :
         block_order(plan_.schedule.order_seed, key, plan_.process, block, runs_.size())) {
      auto& trial = runs_[next];
      guarded(trial, [&] {
        const Cell cell = run_cell(trial.id(), trial.body, trial.calls, timer_);
        timed_ns_ += cell.time_ns;
        events_.write("sample", {{"id", trial.id()},
                                 {"process", plan_.process},
                                 {"block", block},
                                 {"order", order},
                                 {"calls", cell.calls},
                                 {"time_ns", cell.time_ns},
                                 {"page_faults", cell.page_faults}});
      });
      ++order;
    }
  }

  void check(TrialRun& trial) {
    const Json& evidence = trial.subject->trial->evidence;
    std::string changed;
    {
      const auto outputs =
          cases::execute(*trial.body.definition, *trial.body.state, *trial.body.precision, trial.body.device);
      changed = changed_output(*trial.body.definition, outputs, evidence);
    }
    if (const auto name = changed_tensor(trial.subject->state, trial.subject->digests);
        changed.empty() && !name.empty()) {
      changed = "tensor '" + name + "' was written by the timed calls";
    }
    finish(trial.id(), changed.empty() ? MeasurementVerdict::kMeasured : MeasurementVerdict::kOutputChanged,
           changed, {{"calls_per_cell", trial.calls}, {"output_check", to_string(check_method(evidence))}});
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
  std::int64_t clock_ns_;
  results::EventWriter& events_;
  Admission admission_;
  std::vector<TrialRun> runs_;
  std::int64_t timed_ns_ = 0;
};

}  // namespace

std::int64_t measure(const Plan& plan, backends::Backend& backend, results::EventWriter& events) {
  const auto timer = backend.timer();
  GroupRun run(plan, backend, *timer, events);
  for (const auto& group : plan.groups) run.run(group);
  return run.timed_ns();
}

}  // namespace ampgate::bench
