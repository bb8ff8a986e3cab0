// All precisions of one training case in one shape: the baseline first, and nothing without a sound one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "validate/training/training_judge.h"

namespace ampgate::validate {

class TrainingRun {
 public:
  // `checkpoints`: where trials keep theirs, in folders of their own; empty: nowhere.
  TrainingRun(const Session& session, const cases::Case& definition, cases::Shape shape,
              std::filesystem::path checkpoints);

  // The body of `trial_finished` without `id`, as CaseRun::judge gives it.
  results::Json judge(const std::string& id, const precision::Precision& precision);

 private:
  TrialAnswer answer(const std::string& id, const precision::Precision& precision);
  // For a precision that cannot be judged at all; empty when it can.
  std::optional<TrialAnswer> refusal(const precision::Precision& precision);
  const Judgement& baseline();

  TrainingSetup setup_;
  std::filesystem::path checkpoints_;
  std::optional<TrainingBaseline> baseline_;
  std::optional<TrialAnswer> baseline_answer_;
};

}  // namespace ampgate::validate
