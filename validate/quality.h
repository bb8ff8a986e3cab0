// What a precision does to a model's answers: decisions on ordinary and boundary inputs, accuracy, regression
// error.
#pragma once

#include "cases/case.h"
#include "validate/answers.h"
#include "validate/boundary_judge.h"
#include "validate/judgement.h"
#include "validate/session.h"

namespace ampgate::validate {

// Why the case's own data does not fit its decisions or targets: labels out of range, scores of one class, an
// empty batch. Empty when it does. `oracle`: the outputs in FP64.
std::string why_unfit(const cases::Facts& facts, const cases::State& original, const cases::Outputs& oracle);

class Quality {
 public:
  // `oracle`: the outputs in FP64 on the unrounded tensors. All arguments outlive the object.
  Quality(const Session& session, const cases::Case& definition, const cases::Facts& facts,
          const cases::State& original, const cases::Outputs& oracle);

  // Adds the verdicts to `judgement` and returns the object `decisions` of the trial; empty when the case's
  // outputs are mere values.
  results::Json judge(const Answers& answers, Judgement& judgement);

 private:
  results::Json judge_scores(const Answers& answers, Judgement& judgement);
  void judge_labels(const DecisionComparison& compared, results::Json& json, Judgement& judgement) const;

  const Session& session_;
  const cases::Case& definition_;
  const cases::Facts& facts_;
  const cases::State& original_;
  const cases::Outputs& oracle_;
  BoundaryJudge boundary_;
};

}  // namespace ampgate::validate
