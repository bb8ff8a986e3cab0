// What replays with random rounding say about one trial of a model.
#pragma once

#include <vector>

#include "precision/precision.h"
#include "validate/reference.h"
#include "validate/replay.h"
#include "validate/session.h"

namespace ampgate::validate {

struct Prediction {
  Replay kernel;  // around the oracle on the tensors as the trial stored them
  // Runs that start from the unrounded tensors and round those as well: what the precision as a whole does.
  std::vector<cases::Outputs> whole;
};

// `whole` is made only `with_decisions`. Under autocast, where nothing is rounded beforehand, it equals the
// kernel's runs.
Prediction predict(const Session& session, const cases::Case& definition, const cases::State& original,
                   const Reference& reference, const precision::Precision& precision,
                   const std::vector<RecordedCall>& calls, bool with_decisions);

}  // namespace ampgate::validate
