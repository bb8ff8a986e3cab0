// By what one trial's outputs are accepted: a bound, an error ratio, or a replay. The same criterion judges
// the deciding run, its repetition and the mutants.
#pragma once

#include <functional>
#include <vector>

#include "cases/case.h"
#include "validate/bounds.h"
#include "validate/judgement.h"
#include "validate/reference.h"
#include "validate/replay.h"

namespace ampgate::validate {

struct Criterion {
  std::function<Judgement(const cases::Outputs&)> judge;
  // The same for outputs of which the judged part was taken already: mutants of the oracle.
  std::function<Judgement(const cases::Outputs&)> judge_part;
  cases::Outputs oracle;          // what each output's judged part is judged against, FP64
  Sample sample;                  // that part
  std::vector<Bound> bounds;      // for the positions that phase 2 checks again
  std::vector<Finding> findings;  // about the inputs
};

// For operators. `sample`: the part of the outputs that is judged. Throws what bounds and oracle throw.
Criterion operator_criterion(const results::Rules& rules, const cases::Case& definition,
                             const precision::Precision& precision, const cases::State& prepared,
                             const cases::Outputs& outputs, References& references,
                             const Sample& sample = {});

// For models, by a prediction around `oracle`.
Criterion model_criterion(const results::Rules& rules, const cases::Case& definition,
                          const cases::Outputs& oracle, const Replay& prediction);

}  // namespace ampgate::validate
