#include "bench/admission.h"

#include <exception>

#include "backends/digest.h"
#include "bench/ambient.h"
#include "bench/error_text.h"
#include "bench/observation.h"
#include "bench/output_check.h"
#include "cases/execute.h"
#include "cases/fills.h"
#include "results/gate.h"

namespace ampgate::bench {
namespace {

using results::MeasurementVerdict;

// Empty, or why the trial may not be measured here and now.
std::string refusal(const Plan& plan, const Trial& trial, const cases::Case& definition,
                    const results::Json& observed_group, c10::DeviceType device) {
  if (!trial.verdict)
    return "/verdict: the plan does not say the verdict of the validation. Validate this trial first.";
  const auto answer =
      results::check_gate(trial.evidence, *trial.verdict,
                          observe_trial(observed_group, *trial.precision, plan.schedule.mode), plan.rules);
  if (!answer.open) return answer.reason;
  if (const std::string field = missing_check(definition, trial.evidence); !field.empty()) {
    return field + ": the evidence has nothing to check the output with. Validate this trial again.";
  }
  const auto problems = ambient_problems(device);
  return problems.empty() ? "" : problems.front();
}

// Tensors that were not converted have the digests of the original ones.
std::vector<std::string> prepared_digests(const cases::State& original,
                                          const std::vector<std::string>& original_digests,
                                          const cases::State& prepared) {
  std::vector<std::string> digests = original_digests;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const at::Tensor& tensor = prepared.tensors[i].tensor;
    if (tensor.scalar_type() != original.tensors[i].tensor.scalar_type())
      digests[i] = backends::digest(tensor);
  }
  return digests;
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

Admission admit(const Plan& plan, const Group& group, const backends::Backend& backend) {
  Admission admission;
  const auto found = cases::registry().find(group.case_name);
  if (found == cases::registry().end()) {
    turn_away_all(group, admission, MeasurementVerdict::kRefused,
                  "/case: this build has no case '" + group.case_name + "'. Validate again with this build.");
    return admission;
  }
  const cases::Case& definition = found->second;
  admission.definition = &definition;
  try {
    const cases::Shape shape = definition.shape(group.sizes);
    const cases::State original =
        definition.setup(shape, cases::Fill(plan.seed, definition.name, shape.name));
    const auto digests = state_digests(original);
    const auto observed = observe_group(plan, backend, definition, shape, original, digests);
    for (const auto& trial : group.trials) {
      const std::string reason = refusal(plan, trial, definition, observed, backend.device().type());
      if (!reason.empty()) {
        admission.turned_away.push_back({&trial, MeasurementVerdict::kRefused, reason});
        continue;
      }
      Subject subject{&trial, cases::prepare(original, *trial.precision, backend.device()), {}};
      subject.digests = prepared_digests(original, digests, subject.state);
      admission.subjects.push_back(std::move(subject));
    }
  } catch (const std::exception& error) {
    turn_away_all(group, admission, MeasurementVerdict::kCrashed,
                  "setting up the case: " + error_text(error));
  }
  turn_away_with_baseline(group, admission);
  return admission;
}

}  // namespace ampgate::bench
