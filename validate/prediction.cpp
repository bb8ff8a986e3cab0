#include "validate/prediction.h"

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
  prediction.kernel.runs.clear();
  return prediction;
}

}  // namespace ampgate::validate
