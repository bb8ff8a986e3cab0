#include "validate/prediction.h"

#include <algorithm>
#include <utility>

#include "cases/execute.h"

namespace ampgate::validate {

Prediction predict(const Session& session, const cases::Case& definition, const cases::State& original,
                   const Reference& reference, const precision::Precision& precision,
                   const std::vector<RecordedCall>& calls, bool with_decisions) {
  const ReplayPlan plan{calls, {}, session.rules.bounds.replay_runs, session.seed};
  Prediction prediction{replay(definition, reference.inputs.state, reference.oracle, plan), {}};
  if (with_decisions && precision.mode == precision::Mode::kCast) {
    ReplayPlan rounded = plan;
    rounded.stored = precision.type;
    prediction.whole =
        replay(definition, cases::converted(original, at::kDouble), reference.oracle, rounded).runs;
  } else if (with_decisions) {
    prediction.whole = prediction.kernel.runs;
  }
  if (std::any_of(reference.oracle.begin(), reference.oracle.end(),
                  [](const at::Tensor& output) { return !output.is_floating_point(); })) {
    ReplayPlan amplified = plan;
    amplified.amplified = session.rules.bounds.flip_deviations;
    prediction.kernel.varies = varying_integers(
        replay(definition, reference.inputs.state, reference.oracle, amplified), reference.oracle);
  }
  prediction.kernel.runs.clear();
  return prediction;
}

}  // namespace ampgate::validate
