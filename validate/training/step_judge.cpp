#include "validate/training/step_judge.h"

#include <algorithm>
#include <cmath>

#include "validate/text.h"
#include "validate/training/baseline_fault.h"

namespace ampgate::validate {

using results::Verdict;

namespace {

bool any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

// A warm-up may begin with a learning rate of 0; a training that has no other trains nothing. The first
// optimizer that never changed a weight for it, or -1.
int at_rest_throughout(const WatchedRun& watched) {
  for (std::size_t i = 0; i < watched.steps.front().at_rest.size(); ++i) {
    bool rests = false, moves = false;
    for (const auto& step : watched.steps) {
      rests = rests || step.at_rest[i];
      moves = moves || (step.stepped[i] && !step.at_rest[i]);
    }
    if (rests && !moves) return static_cast<int>(i);
  }
  return -1;
}

bool all_zero_where_unchanged(const StepReport& step) {
  for (std::size_t i = 0; i < step.unchanged.size(); ++i) {
    if (step.unchanged[i] && !step.zero_gradients[i]) return false;
  }
  return true;
}

std::string number_words(const WatchedRun& watched, std::size_t step) {
  return std::to_string(watched.first_step + static_cast<std::int64_t>(step));
}

}  // namespace

void judge_finite(const WatchedRun& watched, bool scaler, Judgement& judgement) {
  for (std::size_t i = 0; i < watched.steps.size(); ++i) {
    const StepReport& step = watched.steps[i];
    const std::string where = " at step " + number_words(watched, i);
    // With a scaler, gradients that are not finite skip the step; scaling.h counts those. A loss alone skips
    // nothing.
    if (!std::isfinite(step.loss) && (!scaler || any(step.stepped))) {
      return judgement.worsen(Verdict::kNonfinite,
                              "the loss is " + text(step.loss) + where +
                                  (scaler ? ", and the update was applied: its gradients are finite" : ""));
    }
    if (!scaler && step.nonfinite > 0) {
      return judgement.worsen(Verdict::kNonfinite,
                              std::to_string(step.nonfinite) + " gradients are not finite" + where);
    }
    if (!step.weights_finite)
      return judgement.worsen(Verdict::kNonfinite, "weights are not finite after the update" + where);
  }
}

// Where another optimizer skipped the same step it is no fault of this one: clipping all gradients together
// makes them zero when one is infinite.
void judge_updates(const WatchedRun& watched, bool nothing_to_learn, Judgement& judgement) {
  const int all_at_rest = at_rest_throughout(watched);
  if (all_at_rest >= 0) {
    judgement.worsen(Verdict::kQualityLost,
                     "the learning rate of optimizer " + std::to_string(all_at_rest) +
                         " is 0 in every step: its updates were applied and changed no weight");
  }
  int alone = 0, beside_skip = 0, at_the_end = 0;
  std::size_t first = 0;
  bool moved = false;
  for (std::size_t i = 0; i < watched.steps.size(); ++i) {
    const StepReport& step = watched.steps[i];
    moved = moved || (any(step.stepped) && !any(step.unchanged) && !any(step.at_rest));
    if (!any(step.unchanged)) continue;
    if (!step.applied()) {
      ++beside_skip;
    } else if (nothing_to_learn && moved && all_zero_where_unchanged(step)) {
      ++at_the_end;
    } else if (++alone == 1) {
      first = i;
    }
  }
  const std::string of =
      " of " + std::to_string(watched.steps.size()) + " updates were applied and changed no weight";
  if (alone > 0) {
    judgement.worsen(Verdict::kQualityLost,
                     std::to_string(alone) + of + " of their optimizer, the first at step " +
                         number_words(watched, first) +
                         ": they are lost in the rounding of the weights, or the gradients are zero");
  }
  if (beside_skip > 0) {
    judgement.findings.push_back({"ordinary", "unchanged",
                                  std::to_string(beside_skip) + of +
                                      " where another optimizer skipped: gradients that are clipped "
                                      "together become zero when one of them is infinite"});
  }
  if (at_the_end > 0) {
    judgement.findings.push_back(
        {"ordinary", "unchanged",
         std::to_string(at_the_end) + of +
             ": their gradients are zero without underflow, so that nothing was left "
             "to learn from these batches"});
  }
}

void judge_progress(const WatchedRun& watched, Judgement& judgement) {
  const double first = watched.steps.front().loss, last = watched.steps.back().loss;
  if (diverges(watched)) {
    judgement.worsen(Verdict::kQualityLost, "the training diverges: the loss begins with " + text(first) +
                                                " and ends with " + text(last));
  } else if (makes_no_progress(watched)) {
    judgement.findings.push_back({"ordinary", "no-progress",
                                  "in " + std::to_string(watched.steps.size()) +
                                      " steps the loss of the FP32 training does not fall (it begins with " +
                                      text(first) + " and ends with " + text(last) +
                                      "): that 16 bit is no worse says little"});
  }
}

void refuse_changes_in_skips(const WatchedRun& watched) {
  for (std::size_t i = 0; i < watched.steps.size(); ++i) {
    if (!any(watched.steps[i].changed_in_skip)) continue;
    throw cases::Misuse("weights change at step " + number_words(watched, i) +
                        ", whose gradients are not finite: they are updated beside the scaler's step");
  }
}

}  // namespace ampgate::validate
