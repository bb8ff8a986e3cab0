// Decisions that a trial changes, and whether rounding explains it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "results/json.h"
#include "results/rules.h"
#include "validate/decisions/decide.h"

namespace ampgate::validate {

enum class Effect {
  kUnchanged,
  kExplained,    // the baseline's margin is within what rounding moves it
  kTieCollapse,  // so, and scores that the decision hangs on became equal
  kDefect,       // rounding does not explain it
  kLost,         // a score is NaN on one side only: no decision, and `nonfinite`
};
std::string to_string(Effect effect);

// One row that is not decided as before.
struct Flip {
  std::int64_t row = 0;
  double margin = 0.0;   // in the baseline, of the lost contest that rounding explains least
  double allowed = 0.0;  // flip_deviations standard deviations of that margin over the replays
  Effect effect = Effect::kDefect;
};

// Baseline and trial, row by row.
struct DecisionComparison {
  ScoreRows before_scores;
  ScoreRows after_scores;
  std::vector<Decision> before;
  std::vector<Decision> after;
  std::vector<Flip> flips;        // by row
  std::int64_t same_outcome = 0;  // rows whose class or interval changed, but not the action
  std::int64_t rows() const { return static_cast<std::int64_t>(before.size()); }
};

// `replays` are scores of the replays with random rounding around the baseline, two at least: a flip is
// explained iff every lost contest has a margin in the baseline of at most flip_deviations standard
// deviations of that margin over them. All scores have the same sizes.
DecisionComparison compare_decisions(const at::Tensor& baseline, const at::Tensor& trial,
                                     const std::vector<at::Tensor>& replays, const cases::Decisions& rule,
                                     const results::Rules& rules);

// Standard deviation over the replays of the margin of one contest in one row.
double margin_deviation(const std::vector<ScoreRows>& replays, std::int64_t row, const Contest& contest);

struct FlipCounts {
  std::int64_t flips = 0;  // explained, tie collapses and defects
  std::int64_t explained = 0;
  std::int64_t tie_collapses = 0;
  std::int64_t defects = 0;
  std::int64_t lost = 0;
  double largest_margin = 0.0;  // that flipped

  void add(const Flip& flip);
};
FlipCounts count(const std::vector<Flip>& flips);

// {"flips", "explained", "defects", "tie_collapses", "lost", "largest_flipped_margin"}, the last where there
// are flips.
results::Json to_json(const FlipCounts& counts);

}  // namespace ampgate::validate
