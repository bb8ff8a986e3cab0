// One step of a training again, with every operator traced: where its first bad value comes from.
#pragma once

#include <optional>
#include <string>

#include "cases/training/trainer.h"
#include "results/json.h"
#include "validate/session.h"

namespace ampgate::validate {

struct FirstBad {
  results::Json json;    // as in `explanation.first_bad`
  std::string sentence;  // "operator 4, aten::linear in region 'fc1' (intermediate): ..."
  std::string cls;       // "input", "cast", "intermediate", "forward-loss", "backward-gradient", ...
};

struct TracedStep {
  std::optional<FirstBad> first;    // none: gradients and weights stayed finite
  std::vector<FirstBad> swallowed;  // bad values that neither gradients nor weights show
};

// From the trainer's state as it stands.
TracedStep trace_step(cases::Trainer& trainer);

}  // namespace ampgate::validate
