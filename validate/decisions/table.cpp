#include "validate/decisions/table.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ampgate::validate {

using results::Json;

namespace {

constexpr std::size_t kMostClasses = 8;

void add_class(std::vector<std::int64_t>& classes, std::int64_t entry) {
  if (entry < 0 || classes.size() == kMostClasses) return;
  if (std::find(classes.begin(), classes.end(), entry) == classes.end()) classes.push_back(entry);
}

// The classes whose scores say most: those that won before or after, and their nearest rivals.
std::vector<std::int64_t> shown_classes(const Decision& before, const Decision& after, std::int64_t classes) {
  if (classes == 1) return {0};
  std::vector<std::int64_t> shown;
  for (const Decision* decision : {&before, &after}) {
    add_class(shown, decision->nearest.winner);
    add_class(shown, decision->nearest.loser);
  }
  for (const Decision* decision : {&before, &after}) {
    for (const std::int64_t entry : decision->chosen) add_class(shown, entry);
  }
  for (std::int64_t entry = 0; entry < std::min<std::int64_t>(classes, 2); ++entry) add_class(shown, entry);
  std::sort(shown.begin(), shown.end());
  return shown;
}

Json scores_of(const double* scores, const std::vector<std::int64_t>& classes) {
  Json list = Json::array();
  for (const std::int64_t entry : classes) list.push_back(results::number(scores[entry]));
  return list;
}

// What a reader wants to see first.
bool heavier(const Flip& a, const Flip& b) {
  const auto weight = [](const Flip& flip) {
    return std::tuple(flip.effect == Effect::kLost, flip.effect == Effect::kDefect, flip.margin, -flip.row);
  };
  return weight(a) > weight(b);
}

// The unchanged rows with the smallest margins, smallest first.
std::vector<Flip> closest(const DecisionComparison& compared, std::size_t most) {
  std::vector<Flip> rows;
  auto flip = compared.flips.begin();
  for (std::int64_t row = 0; row < compared.rows(); ++row) {
    if (flip != compared.flips.end() && flip->row == row) {
      ++flip;
    } else if (const double margin = compared.before[static_cast<std::size_t>(row)].margin;
               std::isfinite(margin)) {
      rows.push_back({row, margin, 0.0, Effect::kUnchanged});
    }
  }
  const auto kept = rows.begin() + static_cast<std::ptrdiff_t>(std::min(most, rows.size()));
  std::partial_sort(rows.begin(), kept, rows.end(), [](const Flip& a, const Flip& b) {
    return std::tuple(a.margin, a.row) < std::tuple(b.margin, b.row);
  });
  rows.erase(kept, rows.end());
  return rows;
}

}  // namespace

void DecisionTable::add(const std::string& input, const DecisionComparison& compared, std::size_t most_flips,
                        std::size_t unchanged) {
  std::vector<Flip> flips = compared.flips;
  std::sort(flips.begin(), flips.end(), heavier);
  if (flips.size() > most_flips) {
    left_out_ += flips.size() - most_flips;
    flips.resize(most_flips);
  }
  for (const auto& flip : flips) rows_.push_back(row(input, compared, flip));
  for (const auto& flip : closest(compared, unchanged)) rows_.push_back(row(input, compared, flip));
}

Json DecisionTable::row(const std::string& input, const DecisionComparison& compared,
                        const Flip& flip) const {
  const auto number = static_cast<std::size_t>(flip.row);
  const std::int64_t sample = flip.row / compared.before_scores.rows_per_sample;
  const auto classes =
      shown_classes(compared.before[number], compared.after[number], compared.before_scores.classes());
  Json row{{"id", ids_ == nullptr ? sample : ids_->select(0, sample).item<std::int64_t>()}, {"input", input}};
  if (compared.before_scores.rows_per_sample > 1)
    row["position"] = flip.row % compared.before_scores.rows_per_sample;
  row["classes"] = classes;
  row["baseline_scores"] = scores_of(compared.before_scores.row(flip.row), classes);
  row["baseline_decision"] = decision_json(compared.before[number], rule_);
  row["trial_scores"] = scores_of(compared.after_scores.row(flip.row), classes);
  row["trial_decision"] = decision_json(compared.after[number], rule_);
  row["margin"] = results::number(flip.margin);
  if (flip.effect != Effect::kUnchanged && flip.effect != Effect::kLost)
    row["allowed"] = results::number(flip.allowed);
  row["effect"] = to_string(flip.effect);
  return row;
}

}  // namespace ampgate::validate
