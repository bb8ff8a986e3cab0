// All precisions of one training case in one shape: the baseline first, and nothing without a sound one.
#pragma once

#include <optional>

#include "validate/training/training_judge.h"

namespace ampgate::validate {

class TrainingRun {
 public:
  TrainingRun(const Session& session, const cases::Case& definition, cases::Shape shape);

  // The body of `trial_finished` without `id`, as CaseRun::judge gives it.
  results::Json judge(const precision::Precision& precision);

 private:
  TrialAnswer answer(const precision::Precision& precision);
  TrialAnswer train(const precision::Precision& precision);
  const Judgement& baseline();

  TrainingSetup setup_;
  std::optional<TrainingBaseline> baseline_;
  std::optional<TrialAnswer> baseline_answer_;
};

}  // namespace ampgate::validate
