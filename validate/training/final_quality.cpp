#include "validate/training/final_quality.h"

#include <ATen/ops/_unique2.h>

#include <algorithm>
#include <cmath>

#include "results/noninferiority.h"
#include "validate/case_fault.h"
#include "validate/decisions/accuracy.h"
#include "validate/decisions/decide.h"
#include "validate/regression.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

using results::Json;
using results::NonInferiority;
using results::Verdict;

bool is_accuracy(const TrainingSetup& setup) {
  return setup.definition.facts(setup.shape).decisions.has_value();
}

// Positive: the trial is worse. Accuracies as their difference, RMS errors as the logarithm of their ratio.
double loss_of(bool accuracy, const FinalQuality& baseline, const FinalQuality& trial) {
  return accuracy ? baseline.value - trial.value : std::log(trial.value / baseline.value);
}

Json by_seed(const std::vector<FinalQuality>& qualities) {
  Json values = Json::array();
  for (const auto& quality : qualities) values.push_back(results::number(quality.value));
  return values;
}

// Where the rows of the data hold a NaN or an infinity, which is the first thing to look at.
std::string nonfinite_rows(const TrainingSetup& setup, std::uint64_t seed) {
  const cases::State state = setup.original(seed);
  for (const auto& [rows, held_out] : setup.definition.training->rows) {
    for (const auto& name : {rows, held_out}) {
      const at::Tensor* values = state.find(name);
      if (values == nullptr || !values->is_floating_point()) continue;
      const at::Tensor bad = values->isfinite().logical_not().nonzero();
      if (bad.size(0) == 0) continue;
      return "; '" + name + "' holds values that are not finite, the first in row " +
             std::to_string(bad[0][0].item<std::int64_t>()) + ": change the data, not the precision";
    }
  }
  return "";
}

const FinalQuality* first_nonfinite(const std::vector<FinalQuality>& qualities) {
  const auto found = std::find_if(qualities.begin(), qualities.end(),
                                  [](const auto& quality) { return !std::isfinite(quality.value); });
  return found == qualities.end() ? nullptr : &*found;
}

std::string nonfinite_words(const FinalQuality& quality) {
  return "the trained model's outputs on held-out data are not finite (seed " + std::to_string(quality.seed) +
         ")";
}

const at::Tensor& held_out(const cases::Trainer& trainer, const std::string& name, const char* what) {
  const at::Tensor* found = trainer.held_out().find(name);
  if (found == nullptr)
    throw CaseFault(std::string("it names no ") + what + " to try the trained model with: '" + name + "'");
  return *found;
}

// The share of right answers of a model that gives the same ones for every sample.
double chance_accuracy(const at::Tensor& labels, const cases::Decisions& rule) {
  const at::Tensor all = labels.to(at::kCPU, at::kLong).flatten();
  const at::Tensor counts = std::get<2>(at::_unique2(all, /*sorted=*/true, false, /*return_counts=*/true));
  const std::int64_t answers = rule.kind == cases::DecisionKind::kTopK ? rule.k : 1;
  const at::Tensor best = std::get<0>(counts.sort(0, /*descending=*/true)).slice(0, 0, answers);
  return static_cast<double>(best.sum().item<std::int64_t>()) / static_cast<double>(all.numel());
}

// One number for all: the mean, whose error is the standard deviation.
double chance_rmse(const at::Tensor& targets) {
  const at::Tensor values = targets.to(at::kCPU, at::kDouble);
  return (values - values.mean()).square().mean().sqrt().item<double>();
}

double margin_of(const TrainingSetup& setup) {
  const auto& rules = setup.session.rules.training;
  return is_accuracy(setup) ? rules.max_accuracy_loss : std::log(rules.max_rmse_ratio);
}

std::vector<double> losses_of(bool accuracy, const std::vector<FinalQuality>& baseline,
                              const std::vector<FinalQuality>& other) {
  std::vector<double> losses;
  for (std::size_t i = 0; i < other.size(); ++i)
    losses.push_back(loss_of(accuracy, baseline.at(i), other[i]));
  return losses;
}

bool found_worse(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                 const std::vector<FinalQuality>& other) {
  const auto losses = losses_of(is_accuracy(setup), baseline, other);
  // Infinitely worse, as a model is whose outputs are not finite or whose error was 0, is worse.
  if (!std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); })) {
    return std::none_of(losses.begin(), losses.end(), [](double loss) { return loss == -INFINITY; });
  }
  return results::test_noninferiority(losses, margin_of(setup)).outcome == NonInferiority::kWorse;
}

double mean_of(const std::vector<FinalQuality>& qualities) {
  double sum = 0;
  for (const auto& quality : qualities) sum += quality.value;
  return sum / static_cast<double>(qualities.size());
}

std::string loss_words(bool accuracy, double loss) {
  return accuracy ? text(100 * loss) + " points of accuracy"
                  : "a factor " + text(std::exp(loss)) + " in RMSE";
}

}  // namespace

FinalQuality quality_of(const TrainingSetup& setup, cases::Trainer& trainer, std::uint64_t seed) {
  const cases::Outputs outputs = trainer.evaluate();
  const cases::Facts facts = setup.definition.facts(setup.shape);
  if (facts.decisions) {
    const cases::Decisions& rule = *facts.decisions;
    const at::Tensor& labels = held_out(trainer, rule.labels, "labels");
    const auto rows = score_rows(outputs[rule.output], rule);
    const auto decisions = decide(rows, rule, setup.session.rules.decisions.tie_rule);
    const bool finite = std::none_of(decisions.begin(), decisions.end(), [](const Decision& decision) {
      return decision.state == DecisionState::kNone;
    });
    const auto right = static_cast<double>(right_decisions(decisions, labels.to(at::kCPU), rule));
    return {seed, finite ? right / static_cast<double>(rows.rows()) : NAN};
  }
  const at::Tensor& targets = held_out(trainer, facts.targets, "targets");
  return {seed, regression_error(outputs[facts.target_output], targets).rmse};
}

std::vector<FinalQuality> train_all(const TrainingSetup& setup, const Way& way, const FinalQuality& first) {
  const auto& rules = setup.session.rules.training;
  std::vector<FinalQuality> all{first};
  for (int i = 1; i < rules.seeds; ++i) {
    const std::uint64_t seed = first.seed + static_cast<std::uint64_t>(i);
    const auto trainer = setup.trainer(way, seed);
    for (int step = 0; step < rules.updates; ++step) trainer->run_step();
    all.push_back(quality_of(setup, *trainer, seed));
  }
  return all;
}

Untrained untrained(const TrainingSetup& setup) {
  const cases::Facts facts = setup.definition.facts(setup.shape);
  Untrained all;
  for (int i = 0; i < setup.session.rules.training.seeds; ++i) {
    const std::uint64_t seed = setup.session.seed + static_cast<std::uint64_t>(i);
    const auto trainer = setup.trainer(usual_way(precision::baseline()), seed);
    all.fresh.push_back(quality_of(setup, *trainer, seed));
    const double chance =
        facts.decisions
            ? chance_accuracy(held_out(*trainer, facts.decisions->labels, "labels"), *facts.decisions)
            : chance_rmse(held_out(*trainer, facts.targets, "targets"));
    all.chance.push_back({seed, chance});
  }
  return all;
}

std::string why_meaningless(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                            const Untrained& untrained, Json& quality) {
  quality["untrained"] = by_seed(untrained.fresh);
  quality["chance"] = by_seed(untrained.chance);
  const bool accuracy = is_accuracy(setup);
  if (found_worse(setup, baseline, untrained.chance)) return "";
  // A model that has only learned which answer is the most frequent one is better than at first, too.
  if (!accuracy && found_worse(setup, baseline, untrained.fresh)) return "";
  const std::string name = accuracy ? "accuracy " : "RMSE ";
  return "the FP32 training itself ends with " + name + text(mean_of(baseline)) + ", where " +
         (accuracy ? "one answer for everything has " : "one number for everything has ") +
         text(mean_of(untrained.chance)) +
         (accuracy ? "" : " and the untrained model " + text(mean_of(untrained.fresh))) + ", which over " +
         std::to_string(baseline.size()) +
         " seeds is not shown to be worse by more than the margin: a model that learns nothing might pass as "
         "well";
}

bool loses_quality(const TrainingSetup& setup, double baseline, double trial) {
  return !std::isfinite(trial) || loss_of(is_accuracy(setup), {0, baseline}, {0, trial}) > margin_of(setup);
}

std::string quality_words(const TrainingSetup& setup, double value) {
  return (is_accuracy(setup) ? "accuracy " : "RMSE ") + text(value);
}

Json judge_final_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                         const Untrained& untrained, const std::vector<FinalQuality>& trial,
                         Judgement& judgement) {
  const bool accuracy = is_accuracy(setup);
  const auto& rules = setup.session.rules.training;
  const double margin = margin_of(setup);
  Json json{{"metric", accuracy ? "accuracy" : "rmse"},
            {"seeds", trial.size()},
            {"first_seed", trial.front().seed},
            {"baseline", by_seed(baseline)},
            {"trial", by_seed(trial)},
            {"margin", accuracy ? margin : rules.max_rmse_ratio}};
  if (const FinalQuality* bad = first_nonfinite(trial)) {
    judgement.worsen(Verdict::kNonfinite, nonfinite_words(*bad));
    return json;
  }
  const std::vector<double> losses = losses_of(accuracy, baseline, trial);
  const auto test = results::test_noninferiority(losses, margin);
  json["mean_loss"] = test.mean_loss;
  json["outcome"] = results::to_string(test.outcome);
  if (test.upper) {
    json["limits"] = {*test.lower, *test.upper};
    json["deviation"] = test.deviation;
  }
  if (test.seeds_wanted) json["seeds_wanted"] = *test.seeds_wanted;
  const std::string meaningless = why_meaningless(setup, baseline, untrained, json);
  const std::string words = "over " + std::to_string(losses.size()) + " seeds " +
                            (test.mean_loss < 0 ? "FP32 is behind by " : "FP32 is ahead by ") +
                            loss_words(accuracy, std::abs(test.mean_loss));
  if (test.outcome == NonInferiority::kWorse) {
    judgement.worsen(Verdict::kQualityLost, words + ", at least " + loss_words(accuracy, *test.lower) +
                                                " (one-sided, 95 %); the rules allow " +
                                                loss_words(accuracy, margin));
  } else if (test.outcome == NonInferiority::kOpen) {
    std::string why = test.upper
                          ? words + ", and at most " + loss_words(accuracy, *test.upper) +
                                " (one-sided, 95 %), where the rules allow " + loss_words(accuracy, margin)
                          : "one seed says nothing of how much training differs by chance";
    if (test.seeds_wanted) why += "; about " + std::to_string(*test.seeds_wanted) + " seeds would tell";
    judgement.worsen(Verdict::kAmbiguous, why);
  } else if (!meaningless.empty()) {
    judgement.worsen(Verdict::kAmbiguous, "that 16 bit is no worse says nothing: " + meaningless +
                                              "; more steps (training.updates of the rules) may tell");
  }
  return json;
}

Json judge_baseline_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                            const Untrained& untrained, Judgement& judgement) {
  const auto& rules = setup.session.rules;
  const bool accuracy = is_accuracy(setup);
  const auto& limits = accuracy ? rules.minimum_accuracy : rules.maximum_rmse;
  Json json{{"metric", accuracy ? "accuracy" : "rmse"},
            {"seeds", baseline.size()},
            {"first_seed", baseline.front().seed},
            {"baseline", by_seed(baseline)}};
  if (const FinalQuality* bad = first_nonfinite(baseline)) {
    judgement.worsen(Verdict::kNonfinite, nonfinite_words(*bad) + nonfinite_rows(setup, bad->seed));
    return json;
  }
  if (const std::string why = why_meaningless(setup, baseline, untrained, json);
      !why.empty() && baseline.size() >= results::kLeastSeeds) {
    judgement.findings.push_back({"ordinary", "learns-nothing", why});
  }
  if (const auto limit = limits.find(setup.definition.name); limit != limits.end()) {
    for (const auto& quality : baseline) {
      if (accuracy ? quality.value >= limit->second : quality.value <= limit->second) continue;
      judgement.worsen(Verdict::kQualityLost, "seed " + std::to_string(quality.seed) + " ends with " +
                                                  (accuracy ? "accuracy " : "RMSE ") + text(quality.value) +
                                                  ", the rules ask for " + text(limit->second));
    }
  }
  return json;
}

}  // namespace ampgate::validate
