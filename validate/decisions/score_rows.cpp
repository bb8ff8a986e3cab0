#include "validate/decisions/score_rows.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace ampgate::validate {

using cases::DecisionKind;
using cases::Decisions;

namespace {

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

std::string count(std::size_t number, const char* what) { return std::to_string(number) + " " + what; }

std::string thresholds_problem(const Decisions& rule, std::size_t last) {
  const std::size_t given = rule.thresholds.size();
  if (given != 1 && given != last) {
    return count(given, "thresholds for ") + count(last, "classes: give one, or one a class");
  }
  return all_finite(rule.thresholds) ? "" : "a threshold is not finite";
}

std::string intervals_problem(const Decisions& rule) {
  if (rule.actions.size() != rule.edges.size() + 1) {
    return count(rule.actions.size(), "actions for ") +
           count(rule.edges.size() + 1, "intervals of the score");
  }
  const bool ascending =
      std::adjacent_find(rule.edges.begin(), rule.edges.end(), std::greater_equal<>()) == rule.edges.end();
  return all_finite(rule.edges) && ascending ? "" : "the edges of the intervals are not finite and ascending";
}

std::string classes_problem(const Decisions& rule, std::size_t classes) {
  if (classes < 2) return "the scores have one class: every row would decide alike";
  if (rule.kind == DecisionKind::kTopK && (rule.k < 1 || rule.k >= static_cast<std::int64_t>(classes))) {
    return "the " + std::to_string(rule.k) + " largest of " + count(classes, "scores are no choice");
  }
  if (rule.kind == DecisionKind::kActions && rule.actions.size() != classes) {
    return count(rule.actions.size(), "actions for ") + count(classes, "classes");
  }
  return "";
}

}  // namespace

bool decides_single_scores(const Decisions& rule) {
  return rule.kind == DecisionKind::kThreshold ||
         (rule.kind == DecisionKind::kActions && !rule.edges.empty());
}

ScoreRows score_rows(const at::Tensor& scores, const Decisions& rule) {
  const at::Tensor values = scores.detach().to(at::kCPU, at::kDouble).contiguous();
  ScoreRows rows;
  rows.samples = values.size(0);
  rows.last = values.dim() > 1 ? values.size(-1) : 1;
  rows.values = decides_single_scores(rule) ? values.view({-1, 1}) : values.view({-1, values.size(-1)});
  rows.rows_per_sample = rows.rows() / rows.samples;
  return rows;
}

std::string why_undecidable(const at::Tensor& scores, const Decisions& rule) {
  if (!scores.is_floating_point()) return "the scores are no floating numbers";
  if (scores.dim() == 0) return "the scores have no dimension of rows";
  if (scores.numel() == 0) return "there are no scores: the batch is empty";
  if (rule.kind == DecisionKind::kActions &&
      std::set<std::string>(rule.actions.begin(), rule.actions.end()).size() < 2) {
    return "all actions are the same: every row would decide alike";
  }
  const auto last = static_cast<std::size_t>(scores.dim() > 1 ? scores.size(-1) : 1);
  if (rule.kind == DecisionKind::kThreshold) return thresholds_problem(rule, last);
  if (decides_single_scores(rule)) return intervals_problem(rule);
  return classes_problem(rule, last);
}

}  // namespace ampgate::validate
