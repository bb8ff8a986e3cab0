// What a precision does to a model's answers: decisions on ordinary and boundary inputs, accuracy, regression
// error.
#pragma once

#include <optional>
#include <vector>

#include "cases/case.h"
#include "precision/precision.h"
#include "validate/boundary.h"
#include "validate/judgement.h"
#include "validate/prediction.h"
#include "validate/session.h"

namespace ampgate::validate {

// One trial as far as its answers are concerned. For the FP32 baseline itself `baseline` holds the oracle's
// outputs.
struct Answers {
  const precision::Precision& precision;
  const cases::Outputs& trial;
  const cases::Outputs& baseline;
  const Prediction& prediction;
  const std::vector<RecordedCall>& calls;
};

class Quality {
 public:
  // `oracle`: the outputs in FP64 on the unrounded tensors. All arguments outlive the object.
  Quality(const Session& session, const cases::Case& definition, const cases::Facts& facts,
          const cases::State& original, const cases::Outputs& oracle);

  // Adds the verdicts to `judgement` and returns the object `decisions` of the trial; empty when the case's
  // outputs are mere values.
  results::Json judge(const Answers& answers, Judgement& judgement);

 private:
  struct Rung {
    BoundaryRung inputs;
    cases::Outputs baseline;
  };

  results::Json judge_scores(const Answers& answers, Judgement& judgement);
  results::Json judge_regression(const Answers& answers, Judgement& judgement) const;
  results::Json judge_rung(const Rung& rung, const Answers& answers, Judgement& judgement);
  const std::vector<Rung>& rungs();

  const Session& session_;
  const cases::Case& definition_;
  const cases::Facts& facts_;
  const cases::State& original_;
  const cases::Outputs& oracle_;
  std::optional<std::vector<Rung>> rungs_;
};

}  // namespace ampgate::validate
