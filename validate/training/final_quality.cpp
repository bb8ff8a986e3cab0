#include "validate/training/final_quality.h"

#include <algorithm>
#include <cmath>

#include "results/noninferiority.h"
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

const FinalQuality* first_nonfinite(const std::vector<FinalQuality>& qualities) {
  const auto found = std::find_if(qualities.begin(), qualities.end(),
                                  [](const auto& quality) { return !std::isfinite(quality.value); });
  return found == qualities.end() ? nullptr : &*found;
}

std::string nonfinite_words(const FinalQuality& quality) {
  return "the trained model's outputs on held-out data are not finite (seed " + std::to_string(quality.seed) +
         ")";
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
    const auto& labels = *trainer.held_out().find(rule.labels);
    const auto rows = score_rows(outputs[rule.output], rule);
    const auto decisions = decide(rows, rule, setup.session.rules.decisions.tie_rule);
    const bool finite = std::none_of(decisions.begin(), decisions.end(), [](const Decision& decision) {
      return decision.state == DecisionState::kNone;
    });
    const auto right = static_cast<double>(right_decisions(decisions, labels.to(at::kCPU), rule));
    return {seed, finite ? right / static_cast<double>(rows.rows()) : NAN};
  }
  const at::Tensor& targets = *trainer.held_out().find(facts.targets);
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

Json judge_final_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                         const std::vector<FinalQuality>& trial, Judgement& judgement) {
  const bool accuracy = is_accuracy(setup);
  const auto& rules = setup.session.rules.training;
  const double margin = accuracy ? rules.max_accuracy_loss : std::log(rules.max_rmse_ratio);
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
  std::vector<double> losses;
  for (std::size_t i = 0; i < trial.size(); ++i) losses.push_back(loss_of(accuracy, baseline[i], trial[i]));
  const auto test = results::test_noninferiority(losses, margin);
  json["mean_loss"] = test.mean_loss;
  json["outcome"] = results::to_string(test.outcome);
  if (test.upper) {
    json["limits"] = {*test.lower, *test.upper};
    json["deviation"] = test.deviation;
  }
  if (test.seeds_wanted) json["seeds_wanted"] = *test.seeds_wanted;
  const std::string words = "over " + std::to_string(losses.size()) + " seeds FP32 is ahead by " +
                            loss_words(accuracy, test.mean_loss);
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
  }
  return json;
}

Json judge_baseline_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                            Judgement& judgement) {
  const auto& rules = setup.session.rules;
  const bool accuracy = is_accuracy(setup);
  const auto& limits = accuracy ? rules.minimum_accuracy : rules.maximum_rmse;
  if (const FinalQuality* bad = first_nonfinite(baseline)) {
    judgement.worsen(Verdict::kNonfinite, nonfinite_words(*bad));
  } else if (const auto limit = limits.find(setup.definition.name); limit != limits.end()) {
    for (const auto& quality : baseline) {
      if (accuracy ? quality.value >= limit->second : quality.value <= limit->second) continue;
      judgement.worsen(Verdict::kQualityLost, "seed " + std::to_string(quality.seed) + " ends with " +
                                                  (accuracy ? "accuracy " : "RMSE ") + text(quality.value) +
                                                  ", the rules ask for " + text(limit->second));
    }
  }
  return {{"metric", accuracy ? "accuracy" : "rmse"},
          {"seeds", baseline.size()},
          {"first_seed", baseline.front().seed},
          {"baseline", by_seed(baseline)}};
}

}  // namespace ampgate::validate
