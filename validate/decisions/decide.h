// From scores to decisions, and how far each is from another decision.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cases/decisions.h"
#include "results/json.h"
#include "validate/decisions/score_rows.h"

namespace ampgate::validate {

// One comparison that a decision rests on: class `winner` is ahead of class `loser`; a class that is absent
// (negative) stands for the constant `level`.
struct Contest {
  std::int64_t winner = -1;
  std::int64_t loser = -1;
  double level = 0.0;

  // By how much the winner is ahead in these scores; 0 for equal infinities.
  double margin(const double* scores) const;
};

enum class DecisionState {
  kDecided,
  kRejected,  // a tie, and the rules reject ties
  kNone,      // a score is NaN
};

struct Decision {
  DecisionState state = DecisionState::kDecided;
  // What was decided, for comparing: the class, 0 or 1 by a threshold, the classes of the top k in ascending
  // order (ranked: by rank), the number of the action's first entry in the table.
  std::vector<std::int64_t> outcome;
  // By what: the winning classes by rank; the number of the interval. Also set for a rejected tie.
  std::vector<std::int64_t> chosen;
  Contest nearest;  // the closest contest with another outcome
  double margin = 0.0;
  bool tie = false;  // the margin is 0

  bool same(const Decision& other) const { return state == other.state && outcome == other.outcome; }
};

// One decision a row. Of equal scores the lowest or the highest index is ahead, as the tie rule says;
// "reject" ranks them by the lowest and decides nothing where an outcome hangs on it. A score on a threshold
// or edge belongs above it, whatever the tie rule.
std::vector<Decision> decide(const ScoreRows& rows, const cases::Decisions& rule,
                             const std::string& tie_rule);

// The contests that the one decided otherwise than the other, seen from the first: margins of the first's
// scores are at least 0.
std::vector<Contest> lost_contests(const Decision& first, const Decision& second, std::int64_t row,
                                   const ScoreRows& rows, const cases::Decisions& rule);

// A class number, 0 or 1, a list of classes, or an action's name; "rejected" or "none".
results::Json decision_json(const Decision& decision, const cases::Decisions& rule);

}  // namespace ampgate::validate
