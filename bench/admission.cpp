#include "bench/admission.h"

#include <exception>

#include "bench/ambient.h"
#include "bench/error_text.h"
#include "bench/observation.h"
#include "bench/output_check.h"
#include "cases/fills.h"
#include "results/gate.h"

namespace ampgate::bench {
namespace {

using results::MeasurementVerdict;

// Empty, or why the trial may not be measured here and now.
std::string refusal(const Plan& plan, const Trial& trial, const Common& common,
                    const results::Json& observed_group, c10::DeviceType device) {
  if (!trial.verdict)
    return "/verdict: the plan does not say the verdict of the validation. Validate this trial first.";
  const auto answer =
      results::check_gate(trial.evidence, *trial.verdict,
                          observe_trial(observed_group, *trial.precision, plan.schedule.mode), plan.rules);
  if (!answer.open) return answer.reason;
  if (const std::string field = missing_check(common, trial); !field.empty()) {
    return field + ": the evidence has nothing to check the output with. Validate this trial again.";
  }
  const auto problems = ambient_problems(device);
  return problems.empty() ? "" : problems.front();
}

void turn_away_all(const Group& group, Admission& admission, MeasurementVerdict verdict,
                   const std::string& reason) {
  admission.subjects.clear();
  admission.turned_away.clear();
  for (const auto& trial : group.trials) admission.turned_away.push_back({&trial, verdict, reason});
}

// Ratios to a baseline that was not measured beside them would be wrong: all or none.
void turn_away_with_baseline(const Group& group, Admission& admission) {
  for (const auto& [trial, verdict, reason] : admission.turned_away) {
    if (trial->precision->name != precision::baseline().name) continue;
    const std::string with = "the baseline " + trial->id + " is not measured: " + reason;
    const TurnedAway baseline{trial, verdict, reason};
    turn_away_all(group, admission, MeasurementVerdict::kRefused, with);
    for (auto& away : admission.turned_away) {
      if (away.trial == baseline.trial) away = baseline;
    }
    return;
  }
}

}  // namespace

std::optional<int> threads_of(const Group& group) {
  const auto found = cases::registry().find(group.case_name);
  return found == cases::registry().end() ? std::nullopt : found->second.threads;
}

Admission admit(const Plan& plan, const Group& group, const backends::Backend& backend) {
  Admission admission;
  const auto found = cases::registry().find(group.case_name);
  if (found == cases::registry().end()) {
    turn_away_all(group, admission, MeasurementVerdict::kRefused,
                  "/case: this build has no case '" + group.case_name + "'. Validate again with this build.");
    return admission;
  }
  const cases::Case& definition = found->second;
  try {
    const cases::Shape shape = definition.shape(group.sizes);
    cases::State original = definition.setup(shape, cases::Fill(plan.seed, definition.name, shape.name));
    auto digests = state_digests(original);
    admission.common = std::make_unique<Common>(
        Common{definition, shape, plan.seed, std::move(original), std::move(digests)});
    const Common& common = *admission.common;
    const auto observed = observe_group(plan, backend, definition, shape, common.original, common.digests);
    for (const auto& trial : group.trials) {
      const std::string reason = refusal(plan, trial, common, observed, backend.device().type());
      if (reason.empty()) {
        admission.subjects.push_back(make_subject(common, trial, backend));
      } else {
        admission.turned_away.push_back({&trial, MeasurementVerdict::kRefused, reason});
      }
    }
  } catch (const std::exception& error) {
    turn_away_all(group, admission, MeasurementVerdict::kCrashed,
                  "setting up the case: " + error_text(error));
  }
  turn_away_with_baseline(group, admission);
  return admission;
}

}  // namespace ampgate::bench
