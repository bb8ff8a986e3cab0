#include "bench/inspect.h"

#include <map>
#include <set>
#include <string>

#include "bench/admission.h"
#include "bench/audit.h"
#include "bench/error_text.h"
#include "bench/memory.h"
#include "bench/numerics.h"
#include "precision/region.h"

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
      visit(group, [&](Subject& subject, const Body& body) {
        memory_[subject.trial->id] = measure_memory(body, backend_);
      });
    }
    for (const auto& group : plan_.groups) {
      visit(group, [&](Subject& subject, const Body& body) { finish_audited(group, subject, body); });
    }
  }

 private:
  // `work` on every trial of the group that has no answer yet, in the trial's numerics.
  template <typename Work>
  void visit(const Group& group, Work&& work) {
    events_.write("heartbeat");
    Admission admission = admit(plan_, group, backend_);
    for (const auto& away : admission.turned_away) finish(*away.trial, away.verdict, away.reason);
    for (auto& subject : admission.subjects) {
      if (finished_.contains(subject.trial->id)) continue;
      events_.write("trial_started", {{"id", subject.trial->id}});
      try {
        const auto numerics = numerics_scope(*subject.trial->precision);
        const precision::IslandScope islands(subject.trial->islands);
        work(subject, admission.body(subject, backend_));
      } catch (const std::exception& error) {
        finish(*subject.trial, MeasurementVerdict::kCrashed, error_text(error));
      }
    }
  }

  void finish_audited(const Group& group, Subject& subject, const Body& body) {
    const cases::Case& definition = *body.definition;
    const std::string reads = definition.facts(definition.shape(group.sizes)).reads;
    const Audit audited = audit(body, reads, subject.trial->evidence.value("operators", Json::array()));
    const Memory& memory = memory_.at(subject.trial->id);
    Json audit_json = to_json(audited);
    if (!memory.problem.empty()) audit_json["problems"].push_back(memory.problem);

    std::string reason;
    for (const auto& problem : audit_json["problems"]) {
      reason += (reason.empty() ? "" : "; ") + problem.get<std::string>();
    }
    finish(*subject.trial, reason.empty() ? MeasurementVerdict::kMeasured : MeasurementVerdict::kRefused,
           reason, {{"memory", to_json(memory)}, {"audit", std::move(audit_json)}});
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
  std::map<std::string, Memory> memory_;
  std::set<std::string> finished_;
};

}  // namespace

void inspect(const Plan& plan, backends::Backend& backend, results::EventWriter& events) {
  Inspection(plan, backend, events).run();
}

}  // namespace ampgate::bench
