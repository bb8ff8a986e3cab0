// A training case whose behaviour a test sets: a linear layer that is fitted with momentum, and does what it
// is told from a chosen call on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "bench/plan.h"
#include "cases/case.h"

namespace ampgate::bench::testing {

struct TrainingBehaviour {
  std::function<void(cases::State& state, at::Tensor& loss)> act{};  // at the end of the loss
  long from_call = 0;                                                // counted over the losses
  long calls = 0;
  bool outlier = false;  // one row in 32 overflows FP16 and no other type; its gradient is 0
};

// Of the case "fake_training", as the running test set it.
TrainingBehaviour& training_behaviour();

constexpr int kUpdates = 12;   // of the training that phase 1 judged
constexpr int kFirstStep = 5;  // that is timed

// What phase 1 would have left behind: a plan for "fake_training" in these precisions, with the verdict
// `pass` and evidence that fits this process, made with `outlier` as it is and without the act. Restores the
// behaviour. The caller holds an at::NoGradGuard.
Plan fake_training_plan(Phase phase, const std::vector<std::string>& precisions, backends::Backend& backend);

// Of the updates of its timed steps, those that were applied in a precision.
int applied_from_first_step(const std::string& precision, backends::Backend& backend, std::int64_t steps);

}  // namespace ampgate::bench::testing
