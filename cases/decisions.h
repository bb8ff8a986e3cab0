// How scores become decisions, as plain data; validate/decisions/ decides by it. Which of equal scores is
// ahead is for the rules file to say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ampgate::cases {

enum class DecisionKind {
  kArgmax,     // the class with the largest score
  kThreshold,  // each score for itself: 1 where it is at or above its threshold, else 0
  kTopK,       // the k classes with the largest scores
  kActions,    // an action by its name: that of the class with the largest score, or that of the interval in
               // which a score lies
};

// Scores (N, ..., C) of output `output`: one decision for each position of all dimensions but the last; one
// for each score by thresholds and intervals, where (N) will do.
struct Decisions {
  std::size_t output = 0;
  // Name of the integer or bool input that holds the right answers, one a decision, never read by `run`: the
  // class (top-k: it is among the k), 0 or 1, the number of the interval. Empty: there are none.
  std::string labels{};
  // Name of the integer input (N) that names the samples in tables; empty: their number.
  std::string ids{};
  DecisionKind kind = DecisionKind::kArgmax;
  std::vector<double> thresholds{};  // kThreshold: one for all, or one a class
  std::int64_t k = 1;                // kTopK: 1 to C - 1
  bool ranked = false;               // kTopK: their order counts
  // kActions: one a class, or one an interval. Several may be the same: then a changed class need not change
  // the action.
  std::vector<std::string> actions{};
  std::vector<double> edges{};  // kActions by intervals: ascending; interval i begins at edges[i - 1]
};

}  // namespace ampgate::cases
