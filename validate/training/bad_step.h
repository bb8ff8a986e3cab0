// Finds the step that a failure goes back to while the training runs: states are kept of few steps.
#pragma once

#include <cmath>
#include <optional>

#include "validate/training/watched_run.h"

namespace ampgate::validate {

class BadStep {
 public:
  bool is_final() const { return lost_; }

  // `before`: the state with which the step began.
  void note(std::size_t number, const StepReport& step, cases::Checkpoint before) {
    lost_ = !std::isfinite(step.loss) || !step.weights_finite;
    if (lost_) {
      found_ = Found{number, std::move(before)};
    } else if (step.nonfinite == 0) {
      run_ = 0;
    } else {
      if (run_++ == 0) begin_ = Found{number, std::move(before)};
      if (run_ > longest_) {
        longest_ = run_;
        found_ = begin_;
      }
    }
  }

  void put_into(WatchedRun& run) {
    if (!found_) return;
    run.bad_step = found_->number;
    run.before_bad = std::move(found_->before);
  }

 private:
  struct Found {
    std::size_t number;
    cases::Checkpoint before;
  };
  bool lost_ = false;
  int run_ = 0, longest_ = 0;
  std::optional<Found> begin_, found_;
};

}  // namespace ampgate::validate
