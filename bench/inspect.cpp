#include "bench/inspect.h"

#include <ATen/Parallel.h>

#include <map>
#include <set>
#include <string>

#include "bench/admission.h"
#include "bench/audit.h"
#include "bench/casts.h"
#include "bench/error_text.h"
#include "bench/memory.h"
#include "bench/surroundings.h"
#include "bench/thread_count.h"
#include "bench/trial_scope.h"
#include "cases/threads.h"

namespace ampgate::bench {
namespace {

using results::Json;
using results::MeasurementVerdict;

class Inspection {
 public:
  Inspection(const Plan& plan, backends::Backend& backend, results::EventWriter& events)
      : plan_(plan), backend_(backend), events_(events) {}

  void run() {
    for (const auto& group : plan_.groups) {
      visit(group, [&](const Common&, Subject& subject) { look_at_memory(subject); });
    }
    for (const auto& group : plan_.groups) {
      baseline_refusal_.clear();
      visit(group, [&](const Common& common, Subject& subject) { finish_audited(common, subject); });
    }
  }

 private:
  // `work` on every trial of the group that has no answer yet, in the trial's numerics.
  template <typename Work>
  void visit(const Group& group, Work&& work) {
    events_.write("heartbeat");
    const cases::ThreadsScope threads(threads_of(group));
    Admission admission = admit(plan_, group, backend_);
    for (const auto& away : admission.turned_away) {
      // What a body changed may be beyond undoing: the gate then shuts for all trials, and one did it.
      auto reasons = first_looks_[away.trial->id].problems;
      reasons.push_back(away.reason);
      finish(*away.trial, away.verdict, joined(reasons));
    }
    for (auto& subject : admission.subjects) {
      const Trial& trial = subject->trial();
      if (finished_.contains(trial.id)) continue;
      events_.write("trial_started", {{"id", trial.id}});
      try {
        const TrialScope scope(trial);
        work(*admission.common, *subject);
      } catch (const std::exception& error) {
        finish(trial, MeasurementVerdict::kCrashed, error_text(error));
      }
    }
  }

  // These are the first calls in this process, and some bodies change something only then.
  void look_at_memory(Subject& subject) {
    Body& body = subject.body();
    FirstLook& look = first_looks_[subject.trial().id];
    // Reading them starts the threads that operators share, so that others are somebody else's.
    const Surroundings before = read_surroundings(body);
    const int threads = thread_count();
    look.memory = measure_memory(body, backend_);
    if (const int more = thread_count() - threads; more > 0) {
      look.problems.push_back("the first calls start " + std::to_string(more) + " threads beside the " +
                              std::to_string(at::get_num_threads()) + " that were validated");
    }
    for (const auto& change : changes(before, read_surroundings(body)))
      look.problems.push_back("the first calls change the body's surroundings: " + change);
    if (!look.memory.problem.empty()) look.problems.push_back(look.memory.problem);
  }

  void finish_audited(const Common& common, Subject& subject) {
    const cases::Case& definition = common.definition;
    const Trial& trial = subject.trial();
    Body& body = subject.body();
    const FirstLook& look = first_looks_.at(trial.id);
    Audit audited = audit(body, definition.facts(common.shape), trial.evidence, backend_);
    audited.problems.insert(audited.problems.end(), look.problems.begin(), look.problems.end());
    Json fields{{"memory", to_json(look.memory, definition.model)}, {"audit", to_json(audited)}};
    if (body.precision().mode == precision::Mode::kAutocast)
      fields["casts"] = to_json(measure_casts(body, backend_));

    std::vector<std::string> reasons = audited.problems;
    if (!baseline_refusal_.empty()) reasons.insert(reasons.begin(), baseline_refusal_);
    const std::string reason = joined(reasons);
    if (body.precision().name == precision::baseline().name && !reason.empty())
      baseline_refusal_ = "nothing stands beside its baseline " + trial.id + ", which was refused";
    finish(trial, reason.empty() ? MeasurementVerdict::kMeasured : MeasurementVerdict::kRefused, reason,
           fields);
  }

  static std::string joined(const std::vector<std::string>& reasons) {
    std::string text;
    for (const auto& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
    return text;
  }

  // The first answer of a trial is its only one.
  void finish(const Trial& trial, MeasurementVerdict verdict, const std::string& reason,
              const Json& fields = Json::object()) {
    if (!finished_.insert(trial.id).second) return;
    Json body = {{"id", trial.id}, {"verdict", results::to_string(verdict)}, {"reason", reason}};
    body.update(fields);
    events_.write("trial_finished", body);
  }

  const Plan& plan_;
  backends::Backend& backend_;
  results::EventWriter& events_;
  struct FirstLook {
    Memory memory;
    std::vector<std::string> problems;
  };
  std::map<std::string, FirstLook> first_looks_;
  std::set<std::string> finished_;
  std::string baseline_refusal_;  // of the group at hand; empty: it was not refused
};

}  // namespace

void inspect(const Plan& plan, backends::Backend& backend, results::EventWriter& events) {
  Inspection(plan, backend, events).run();
}

}  // namespace ampgate::bench
