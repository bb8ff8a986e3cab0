#include "validate/decisions/flips.h"

#include <algorithm>
#include <cmath>

namespace ampgate::validate {

using results::Json;

namespace {

// The lost contest that rounding explains least.
Flip least_explained(const std::vector<Contest>& contests, const double* scores, std::int64_t row,
                     const std::vector<ScoreRows>& replays, double deviations) {
  Flip worst{.row = row};
  for (std::size_t i = 0; i < contests.size(); ++i) {
    const double margin = contests[i].margin(scores);
    const double allowed = deviations * margin_deviation(replays, row, contests[i]);
    if (i > 0 && !(margin - allowed > worst.margin - worst.allowed)) continue;
    worst.margin = margin;
    worst.allowed = allowed;
  }
  return worst;
}

Effect effect_of(const Flip& flip, const Decision& after) {
  if (!(flip.margin <= flip.allowed)) return Effect::kDefect;
  return after.tie ? Effect::kTieCollapse : Effect::kExplained;
}

}  // namespace

std::string to_string(Effect effect) {
  switch (effect) {
    case Effect::kUnchanged:
      return "unchanged";
    case Effect::kExplained:
      return "explained";
    case Effect::kTieCollapse:
      return "tie-collapse";
    case Effect::kDefect:
      return "defect";
    case Effect::kLost:
      return "lost";
  }
  return "";
}

double margin_deviation(const std::vector<ScoreRows>& replays, std::int64_t row, const Contest& contest) {
  double mean = 0.0;
  for (const auto& scores : replays) mean += contest.margin(scores.row(row));
  mean /= static_cast<double>(replays.size());
  double squares = 0.0;
  for (const auto& scores : replays) squares += std::pow(contest.margin(scores.row(row)) - mean, 2);
  return std::sqrt(squares / static_cast<double>(replays.size() - 1));
}

DecisionComparison compare_decisions(const at::Tensor& baseline, const at::Tensor& trial,
                                     const std::vector<at::Tensor>& replays, const cases::Decisions& rule,
                                     const results::Rules& rules) {
  DecisionComparison result{score_rows(baseline, rule), score_rows(trial, rule), {}, {}, {}};
  result.before = decide(result.before_scores, rule, rules.decisions.tie_rule);
  result.after = decide(result.after_scores, rule, rules.decisions.tie_rule);
  std::vector<ScoreRows> replayed;
  for (const auto& scores : replays) replayed.push_back(score_rows(scores, rule));
  for (std::int64_t row = 0; row < result.rows(); ++row) {
    const Decision& before = result.before[static_cast<std::size_t>(row)];
    const Decision& after = result.after[static_cast<std::size_t>(row)];
    if (before.same(after)) {
      result.same_outcome += before.chosen != after.chosen && before.outcome.size() == 1 ? 1 : 0;
      continue;
    }
    Flip flip{.row = row, .effect = Effect::kLost};
    if (before.state != DecisionState::kNone && after.state != DecisionState::kNone) {
      flip = least_explained(lost_contests(before, after, row, result.before_scores, rule),
                             result.before_scores.row(row), row, replayed, rules.bounds.flip_deviations);
      flip.effect = effect_of(flip, after);
    }
    result.flips.push_back(flip);
  }
  return result;
}

void FlipCounts::add(const Flip& flip) {
  if (flip.effect == Effect::kLost) {
    ++lost;
    return;
  }
  ++flips;
  explained += flip.effect == Effect::kExplained ? 1 : 0;
  tie_collapses += flip.effect == Effect::kTieCollapse ? 1 : 0;
  defects += flip.effect == Effect::kDefect ? 1 : 0;
  largest_margin = std::max(largest_margin, flip.margin);
}

FlipCounts count(const std::vector<Flip>& flips) {
  FlipCounts counts;
  for (const auto& flip : flips) counts.add(flip);
  return counts;
}

Json to_json(const FlipCounts& counts) {
  Json json{{"flips", counts.flips},
            {"explained", counts.explained},
            {"defects", counts.defects},
            {"tie_collapses", counts.tie_collapses},
            {"lost", counts.lost}};
  if (counts.flips > 0) json["largest_flipped_margin"] = results::number(counts.largest_margin);
  return json;
}

}  // namespace ampgate::validate
