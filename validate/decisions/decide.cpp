#include "validate/decisions/decide.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ampgate::validate {

using cases::DecisionKind;
using cases::Decisions;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double difference(double a, double b) { return a == b ? 0.0 : a - b; }

// Which of two classes is ahead: by score, then by index.
class Ahead {
 public:
  Ahead(const double* scores, bool highest) : scores_(scores), highest_(highest) {}
  bool operator()(std::int64_t a, std::int64_t b) const {
    if (scores_[a] != scores_[b]) return scores_[a] > scores_[b];
    return highest_ ? a > b : a < b;
  }

 private:
  const double* scores_;
  bool highest_;
};

void settle(Decision& decision, const Contest& nearest, const double* scores) {
  decision.nearest = nearest;
  decision.margin = nearest.margin(scores);
  decision.tie = decision.margin == 0.0;
}

std::int64_t action_of(const Decisions& rule, std::int64_t entry) {
  const auto& actions = rule.actions;
  const auto& name = actions[static_cast<std::size_t>(entry)];
  return std::find(actions.begin(), actions.end(), name) - actions.begin();
}

// argmax, and actions by the class of the largest score: the rival is the best class of another outcome.
Decision largest(const double* scores, std::int64_t classes, const Ahead& ahead, const Decisions& rule) {
  const auto outcome = [&](std::int64_t entry) {
    return rule.kind == DecisionKind::kActions ? action_of(rule, entry) : entry;
  };
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < classes; ++i) best = ahead(i, best) ? i : best;
  std::int64_t rival = -1;
  for (std::int64_t i = 0; i < classes; ++i) {
    if (outcome(i) != outcome(best) && (rival < 0 || ahead(i, rival))) rival = i;
  }
  Decision decision;
  decision.outcome = {outcome(best)};
  decision.chosen = {best};
  settle(decision, {best, rival}, scores);
  return decision;
}

Decision top_k(const double* scores, std::int64_t classes, const Ahead& ahead, const Decisions& rule) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(classes));
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + rule.k + 1, order.end(), ahead);
  Decision decision;
  decision.chosen.assign(order.begin(), order.begin() + rule.k);
  decision.outcome = decision.chosen;
  if (!rule.ranked) std::sort(decision.outcome.begin(), decision.outcome.end());
  // Unranked only the last of the k can lose its place.
  const auto last = static_cast<std::size_t>(rule.k);
  Contest nearest{order[last - 1], order[last]};
  for (std::size_t i = 1; rule.ranked && i < last; ++i) {
    const Contest contest{order[i - 1], order[i]};
    if (contest.margin(scores) < nearest.margin(scores)) nearest = contest;
  }
  settle(decision, nearest, scores);
  return decision;
}

// Is the score at or above the level, and by how much?
Contest against(double score, double level) {
  return score >= level ? Contest{0, -1, level} : Contest{-1, 0, level};
}

double threshold_of(const Decisions& rule, std::int64_t row, std::int64_t last) {
  return rule.thresholds.size() == 1 ? rule.thresholds[0]
                                     : rule.thresholds[static_cast<std::size_t>(row % last)];
}

Decision by_threshold(const double* score, double threshold) {
  Decision decision;
  decision.chosen = {*score >= threshold ? 1 : 0};
  decision.outcome = decision.chosen;
  settle(decision, against(*score, threshold), score);
  return decision;
}

Decision by_interval(const double* score, const Decisions& rule) {
  const auto interval = std::upper_bound(rule.edges.begin(), rule.edges.end(), *score) - rule.edges.begin();
  Decision decision;
  decision.chosen = {interval};
  decision.outcome = {action_of(rule, interval)};
  Contest nearest{0, -1, -kInfinity};
  for (std::size_t edge = 0; edge < rule.edges.size(); ++edge) {
    // An edge between two intervals of one action separates nothing.
    if (rule.actions[edge] == rule.actions[edge + 1]) continue;
    const Contest contest = against(*score, rule.edges[edge]);
    if (contest.margin(score) < nearest.margin(score)) nearest = contest;
  }
  settle(decision, nearest, score);
  return decision;
}

Decision decide_row(const ScoreRows& rows, std::int64_t row, const Decisions& rule,
                    const std::string& tie_rule) {
  const double* scores = rows.row(row);
  const std::int64_t classes = rows.classes();
  if (std::any_of(scores, scores + classes, [](double score) { return std::isnan(score); })) {
    Decision none;
    none.state = DecisionState::kNone;
    none.margin = std::numeric_limits<double>::quiet_NaN();
    return none;
  }
  if (rule.kind == DecisionKind::kThreshold) return by_threshold(scores, threshold_of(rule, row, rows.last));
  if (decides_single_scores(rule)) return by_interval(scores, rule);
  const Ahead ahead(scores, tie_rule == "highest-index");
  Decision decision = rule.kind == DecisionKind::kTopK ? top_k(scores, classes, ahead, rule)
                                                       : largest(scores, classes, ahead, rule);
  if (decision.tie && tie_rule == "reject") {
    decision.state = DecisionState::kRejected;
    decision.outcome.clear();
  }
  return decision;
}

// Pairs of classes that the first ranks one way round and the second the other; classes beyond the k stand
// behind them, unranked. Where order does not count, neither does it within the k.
std::vector<Contest> inverted_pairs(const Decision& first, const Decision& second, const Decisions& rule) {
  const auto place = [&](const Decision& decision, std::int64_t entry) -> std::ptrdiff_t {
    const auto found = std::find(decision.chosen.begin(), decision.chosen.end(), entry);
    const std::ptrdiff_t rank = found - decision.chosen.begin();
    if (rule.ranked) return rank;
    return found == decision.chosen.end() ? 1 : 0;
  };
  std::vector<std::int64_t> entries = first.chosen;
  entries.insert(entries.end(), second.chosen.begin(), second.chosen.end());
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  std::vector<Contest> contests;
  for (const std::int64_t a : entries) {
    for (const std::int64_t b : entries) {
      if (place(first, a) < place(first, b) && place(second, a) > place(second, b))
        contests.push_back({a, b});
    }
  }
  return contests;
}

}  // namespace

double Contest::margin(const double* scores) const {
  return difference(winner < 0 ? level : scores[winner], loser < 0 ? level : scores[loser]);
}

std::vector<Decision> decide(const ScoreRows& rows, const Decisions& rule, const std::string& tie_rule) {
  std::vector<Decision> decisions;
  decisions.reserve(static_cast<std::size_t>(rows.rows()));
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    decisions.push_back(decide_row(rows, row, rule, tie_rule));
  return decisions;
}

std::vector<Contest> lost_contests(const Decision& first, const Decision& second, std::int64_t row,
                                   const ScoreRows& rows, const Decisions& rule) {
  std::vector<Contest> contests;
  if (rule.kind == DecisionKind::kThreshold) {
    contests = {first.nearest};
  } else if (decides_single_scores(rule)) {
    // The score has to pass all edges on the way: the farthest decides.
    const auto from = first.chosen[0];
    const auto to = second.chosen[0];
    const auto edge = rule.edges[static_cast<std::size_t>(to > from ? to - 1 : to)];
    if (to != from) contests = {against(*rows.row(row), edge)};
  } else if (rule.kind == DecisionKind::kTopK) {
    contests = inverted_pairs(first, second, rule);
  } else if (first.chosen != second.chosen) {
    contests = {{first.chosen[0], second.chosen[0]}};
  }
  // A tie that is rejected changes no order: the two that are equal stand for it.
  if (contests.empty())
    contests = {second.state == DecisionState::kRejected ? second.nearest : first.nearest};
  return contests;
}

results::Json decision_json(const Decision& decision, const Decisions& rule) {
  if (decision.state == DecisionState::kRejected) return "rejected";
  if (decision.state == DecisionState::kNone) return "none";
  if (rule.kind == DecisionKind::kTopK) return decision.outcome;
  if (rule.kind == DecisionKind::kActions) return rule.actions[static_cast<std::size_t>(decision.outcome[0])];
  return decision.outcome[0];
}

}  // namespace ampgate::validate
