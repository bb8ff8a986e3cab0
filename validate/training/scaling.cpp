#include "validate/training/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

Json to_json(const Applied& counts) {
  Json json{{"applied", counts.applied}, {"skipped", counts.skipped}, {"longest_skip", counts.longest_skip}};
  if (counts.first > 0) {
    json["first_applied"] = counts.first;
  } else {
    json["absent"] = {{"first_applied", "no update was applied"}};
  }
  return json;
}

// At 2^-128 and below 1 / scale is infinite in FP32: nothing recovers, though steps go on.
bool is_collapsed(double scale) { return !(scale >= std::numeric_limits<float>::min()) || std::isinf(scale); }

void judge_skips(const results::Rules::Training& rules, const Applied& counts, int steps, bool scaler,
                 double last_scale, Judgement& judgement) {
  const std::string scale = scaler ? "; the scale ends at " + text(last_scale) : "";
  if (counts.longest_skip > rules.max_consecutive_skips) {
    judgement.worsen(Verdict::kNonfinite, std::to_string(counts.longest_skip) +
                                              " steps in a row were skipped, the rules allow " +
                                              std::to_string(rules.max_consecutive_skips) + scale);
  }
  if (counts.first == 0 || counts.first > rules.max_steps_to_first_update) {
    judgement.worsen(
        Verdict::kNonfinite,
        (counts.first == 0 ? "no update was applied in " + std::to_string(steps) + " steps"
                           : "the first update was applied at step " + std::to_string(counts.first)) +
            ", the rules ask for one within " + std::to_string(rules.max_steps_to_first_update) + scale);
  }
  const int called = counts.applied + counts.skipped;
  if (counts.skipped > rules.max_skipped_share * called) {
    judgement.worsen(Verdict::kQualityLost, std::to_string(counts.skipped) + " of " + std::to_string(called) +
                                                " steps were skipped, the rules allow " +
                                                text(100 * rules.max_skipped_share) + " %" + scale);
  }
}

// A scale that grew too far is halved once or twice. Longer, and nobody knows whether the training recovers.
void judge_end(int last_skip, Judgement& judgement) {
  constexpr int kRecovers = 2;
  if (last_skip <= kRecovers) return;
  judgement.worsen(Verdict::kAmbiguous, "the last " + std::to_string(last_skip) +
                                            " steps were skipped: more steps (training.updates of the rules) "
                                            "would tell whether the training goes on");
}

// A scale settles within a few steps, where the largest gradients of a training fit. One that still falls
// after half of them, several halvings beyond what growth brought back, does so because something overflows
// whatever the scale is: the forward pass, most likely.
void judge_fall(const WatchedRun& run, Judgement& judgement) {
  constexpr double kFall = 1.0 / 16;
  constexpr int kLeastSkips = 4;
  const std::size_t half = run.steps.size() / 2;
  const double then = run.steps[half].scale;
  const double last = run.steps.back().scale;
  int skipped = 0;
  for (std::size_t i = half; i < run.steps.size(); ++i) {
    for (std::size_t optimizer = 0; optimizer < run.steps[i].stepped.size(); ++optimizer) {
      if (!run.steps[i].called.at(optimizer) || run.steps[i].stepped.at(optimizer)) continue;
      ++skipped;
      break;
    }
  }
  if (!(last <= kFall * then) || skipped < kLeastSkips) return;
  judgement.worsen(
      Verdict::kNonfinite,
      "the scale keeps falling: from " + text(then) + " after half of the steps to " + text(last) +
          " at the end, and " + std::to_string(skipped) +
          " steps of the second half were skipped all the same: something overflows whatever the "
          "scale is");
}

// Optimizers that take turns have not had the same number of steps.
bool skips_more(const Applied& counts, const Applied& other) {
  return counts.skipped != other.skipped ? counts.skipped > other.skipped : counts.applied < other.applied;
}

}  // namespace

Applied applied_by(const WatchedRun& run, std::size_t optimizer) {
  Applied counts;
  int streak = 0;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    if (!run.steps[i].called.at(optimizer)) continue;
    if (run.steps[i].stepped.at(optimizer)) {
      if (++counts.applied == 1) counts.first = static_cast<int>(i) + 1;
      streak = 0;
    } else {
      ++counts.skipped;
      counts.longest_skip = std::max(counts.longest_skip, ++streak);
    }
  }
  counts.last_skip = streak;
  return counts;
}

Json judge_scaling(const results::Rules::Training& rules, const WatchedRun& run, bool scaler,
                   Judgement& judgement) {
  const int steps = static_cast<int>(run.steps.size());
  Json optimizers = Json::array();
  Applied worst;
  int last_skip = 0;  // of any optimizer
  for (std::size_t i = 0; i < run.steps.front().stepped.size(); ++i) {
    const Applied counts = applied_by(run, i);
    optimizers.push_back(to_json(counts));
    if (i == 0 || skips_more(counts, worst)) worst = counts;
    last_skip = std::max(last_skip, counts.last_skip);
  }
  judge_end(last_skip, judgement);
  Json json = to_json(worst);
  json["optimizers"] = std::move(optimizers);
  const double last = run.steps.back().scale;
  judge_skips(rules, worst, steps, scaler, last, judgement);
  if (!scaler) return json;
  judge_fall(run, judgement);
  double lowest = run.steps.front().scale;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const double scale = run.steps[i].scale;
    if (is_collapsed(scale)) {
      judgement.worsen(Verdict::kNonfinite, "the scaler collapsed: at step " + std::to_string(i) +
                                                " its scale is " + text(scale) + ", and 1 / scale infinite");
      break;
    }
    lowest = std::min(lowest, scale);
  }
  json["scale"] = {{"first", results::number(run.steps.front().scale)},
                   {"lowest", results::number(lowest)},
                   {"last", results::number(last)}};
  if (lowest < rules.min_scale) {
    judgement.worsen(Verdict::kNonfinite,
                     "the scale fell to " + text(lowest) + ", the rules allow " + text(rules.min_scale));
  } else if (lowest < 1) {
    judgement.findings.push_back({"ordinary", "scale-below-one",
                                  "the scale fell to " + text(lowest) +
                                      ": allowed, but gradients that overflow when they are unscaled go "
                                      "unseen by the scaler"});
  }
  return json;
}

}  // namespace ampgate::validate
