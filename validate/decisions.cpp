#include "validate/decisions.h"

#include <cmath>

#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::Verdict;

constexpr std::size_t kTableRows = 50;

at::Tensor as_double(const at::Tensor& scores) {
  return scores.detach().to(at::kCPU, at::kDouble).contiguous();
}

double margin_of(const at::Tensor& scores, std::int64_t row, std::int64_t a, std::int64_t b) {
  const double* values = scores.const_data_ptr<double>() + row * scores.size(1);
  return values[a] - values[b];
}

// Standard deviation of the margin between two classes of a row over the replays.
double margin_deviation(const std::vector<at::Tensor>& replays, std::int64_t row, std::int64_t a,
                        std::int64_t b) {
  double mean = 0.0;
  for (const auto& scores : replays) mean += margin_of(scores, row, a, b);
  mean /= static_cast<double>(replays.size());
  double squares = 0.0;
  for (const auto& scores : replays) squares += std::pow(margin_of(scores, row, a, b) - mean, 2);
  return std::sqrt(squares / static_cast<double>(replays.size() - 1));
}

const char* name_of(FlipClass cls) {
  switch (cls) {
    case FlipClass::kExplained:
      return "explained";
    case FlipClass::kTieCollapse:
      return "tie-collapse";
    case FlipClass::kDefect:
      return "defect";
  }
  return "";
}

}  // namespace

std::vector<Decision> decide(const at::Tensor& scores, const std::string& tie_rule) {
  const at::Tensor values = as_double(scores);
  const std::int64_t classes = values.size(1);
  std::vector<Decision> decisions;
  for (std::int64_t row = 0; row < values.size(0); ++row) {
    const double* z = values.const_data_ptr<double>() + row * classes;
    Decision decision{0, classes > 1 ? 1 : 0, false};
    for (std::int64_t i = 1; i < classes; ++i) {
      if (z[i] > z[decision.chosen]) decision.chosen = i;
    }
    if (decision.runner_up == decision.chosen) decision.runner_up = 0;
    for (std::int64_t i = 0; i < classes; ++i) {
      if (i != decision.chosen && z[i] > z[decision.runner_up]) decision.runner_up = i;
    }
    decision.tie = decision.chosen != decision.runner_up && z[decision.chosen] == z[decision.runner_up];
    if (decision.tie && tie_rule == "reject") decision.chosen = kRejected;
    decisions.push_back(decision);
  }
  return decisions;
}

double accuracy(const std::vector<Decision>& decisions, const at::Tensor& labels) {
  const at::Tensor right = labels.to(at::kCPU, at::kLong).contiguous();
  std::int64_t hits = 0;
  for (std::size_t row = 0; row < decisions.size(); ++row) {
    hits += decisions[row].chosen == right.const_data_ptr<std::int64_t>()[row] ? 1 : 0;
  }
  return static_cast<double>(hits) / static_cast<double>(decisions.size());
}

std::vector<Flip> find_flips(const at::Tensor& baseline, const at::Tensor& trial,
                             const std::vector<at::Tensor>& replays, const results::Rules& rules) {
  const at::Tensor scores = as_double(baseline);
  const auto before = decide(baseline, rules.decisions.tie_rule);
  const auto after = decide(trial, rules.decisions.tie_rule);
  // A rejected row has no class of its own; its two largest scores stand for it.
  const auto before_ranked = decide(baseline, "lowest-index");
  const auto after_ranked = decide(trial, "lowest-index");
  std::vector<Flip> flips;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].chosen == after[i].chosen) continue;
    const auto row = static_cast<std::int64_t>(i);
    const std::int64_t from = before_ranked[i].chosen;
    const std::int64_t to =
        after_ranked[i].chosen == from ? after_ranked[i].runner_up : after_ranked[i].chosen;
    const double margin = margin_of(scores, row, from, to);
    const double allowed = rules.bounds.flip_deviations * margin_deviation(replays, row, from, to);
    FlipClass cls = FlipClass::kDefect;
    if (margin <= allowed) cls = after[i].tie ? FlipClass::kTieCollapse : FlipClass::kExplained;
    flips.push_back({row, before[i].chosen, after[i].chosen, margin, cls});
  }
  return flips;
}

FlipCounts count(const std::vector<Flip>& flips) {
  FlipCounts counts;
  for (const auto& flip : flips) {
    ++counts.flips;
    switch (flip.cls) {
      case FlipClass::kExplained:
        ++counts.explained;
        break;
      case FlipClass::kTieCollapse:
        ++counts.tie_collapses;
        break;
      case FlipClass::kDefect:
        ++counts.defects;
        break;
    }
    counts.largest_margin = std::max(counts.largest_margin, flip.baseline_margin);
  }
  return counts;
}

Json to_json(const FlipCounts& counts) {
  Json json{{"flips", counts.flips},
            {"explained", counts.explained},
            {"defects", counts.defects},
            {"tie_collapses", counts.tie_collapses}};
  if (counts.flips > 0) json["largest_flipped_margin"] = results::number(counts.largest_margin);
  return json;
}

Json flip_table(const std::vector<Flip>& flips) {
  Json table = Json::array();
  for (const auto& flip : flips) {
    if (table.size() == kTableRows) break;
    table.push_back({{"row", flip.row},
                     {"baseline_decision", flip.from},
                     {"trial_decision", flip.to},
                     {"baseline_margin", results::number(flip.baseline_margin)},
                     {"class", name_of(flip.cls)}});
  }
  return table;
}

void judge_flips(const results::Rules& rules, const std::vector<Flip>& flips, std::int64_t rows,
                 bool boundary, const std::string& where, Judgement& judgement) {
  const FlipCounts counts = count(flips);
  const auto share = [rows](std::int64_t number) {
    return static_cast<double>(number) / static_cast<double>(rows);
  };
  if (share(counts.defects) > (boundary ? rules.decisions.boundary : rules.decisions.ordinary).defect) {
    const auto worst =
        std::find_if(flips.begin(), flips.end(), [](const Flip& f) { return f.cls == FlipClass::kDefect; });
    judgement.worsen(Verdict::kDecisionChanged,
                     std::to_string(counts.defects) + " of " + std::to_string(rows) + " decisions on " +
                         where + " changed without rounding explaining it; row " +
                         std::to_string(worst->row) + " went from " + std::to_string(worst->from) + " to " +
                         std::to_string(worst->to) + " over a margin of " + text(worst->baseline_margin) +
                         ", allowed share " +
                         text((boundary ? rules.decisions.boundary : rules.decisions.ordinary).defect));
  } else if (!boundary && share(counts.flips) > rules.decisions.ordinary.flips) {
    judgement.worsen(Verdict::kDecisionChanged,
                     std::to_string(counts.flips) + " of " + std::to_string(rows) + " decisions on " + where +
                         " changed; the rules allow a share of " + text(rules.decisions.ordinary.flips));
  }
}

void judge_accuracy(const results::Rules& rules, const std::string& case_name, double baseline, double trial,
                    Judgement& judgement) {
  const auto minimum = rules.minimum_accuracy.find(case_name);
  if (minimum != rules.minimum_accuracy.end() && trial < minimum->second) {
    judgement.worsen(Verdict::kQualityLost, "accuracy " + text(trial) + " is below the " +
                                                text(minimum->second) + " that the rules ask for");
  } else if (baseline - trial > rules.maximum_accuracy_loss) {
    judgement.worsen(Verdict::kQualityLost, "accuracy " + text(trial) + " is " + text(baseline - trial) +
                                                " below the FP32 baseline's " + text(baseline) +
                                                "; allowed loss " + text(rules.maximum_accuracy_loss));
  }
}

}  // namespace ampgate::validate
