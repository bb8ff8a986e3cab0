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

Json judge_final_quality(const TrainingSetup& setup, const std::vector<FinalQuality>& baseline,
                         const Untrained& untrained, const std::vector<FinalQuality>& trial,
                         Judgement& judgement) {
  const QualityMetric metric(setup);
  const bool accuracy = metric.accuracy();
  const double margin = metric.margin();
  Json json{{"metric", accuracy ? "accuracy" : "rmse"},
            {"seeds", trial.size()},
            {"first_seed", trial.front().seed},
            {"baseline", by_seed(baseline)},
            {"trial", by_seed(trial)},
            {"margin", accuracy ? margin : setup.session.rules.training.max_rmse_ratio}};
  if (const FinalQuality* bad = first_nonfinite(trial)) {
    judgement.worsen(Verdict::kNonfinite, nonfinite_words(*bad));
    return json;
  }
  const std::vector<double> losses = metric.losses(baseline, trial);
  const auto test = results::test_noninferiority(losses, margin);
  json["mean_loss"] = test.mean_loss;
  json["outcome"] = results::to_string(test.outcome);
  if (test.upper) {
    json["limits"] = {*test.lower, *test.upper};
    json["deviation"] = test.deviation;
  }
  if (test.seeds_wanted) json["seeds_wanted"] = *test.seeds_wanted;
  const std::string meaningless = why_meaningless(metric, baseline, untrained, json);
  const std::string words = "over " + std::to_string(losses.size()) + " seeds " +
                            (test.mean_loss < 0 ? "FP32 is behind by " : "FP32 is ahead by ") +
                            metric.loss_words(std::abs(test.mean_loss));
  if (test.outcome == NonInferiority::kWorse) {
    judgement.worsen(Verdict::kQualityLost, words + ", at least " + metric.loss_words(*test.lower) +
                                                " (one-sided, 95 %); the rules allow " +
                                                metric.loss_words(margin));
  } else if (test.outcome == NonInferiority::kOpen) {
    std::string why = test.upper
                          ? words + ", and at most " + metric.loss_words(*test.upper) +
                                " (one-sided, 95 %), where the rules allow " + metric.loss_words(margin)
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
  const QualityMetric metric(setup);
  const bool accuracy = metric.accuracy();
  const auto& limits = accuracy ? rules.minimum_accuracy : rules.maximum_rmse;
  Json json{{"metric", accuracy ? "accuracy" : "rmse"},
            {"seeds", baseline.size()},
            {"first_seed", baseline.front().seed},
            {"baseline", by_seed(baseline)}};
  if (const FinalQuality* bad = first_nonfinite(baseline)) {
    judgement.worsen(Verdict::kNonfinite, nonfinite_words(*bad) + nonfinite_rows(setup, bad->seed));
    return json;
  }
  if (const std::string why = why_meaningless(metric, baseline, untrained, json);
      !why.empty() && baseline.size() >= results::kLeastSeeds) {
    judgement.findings.push_back({"ordinary", "learns-nothing", why});
  }
  if (const auto limit = limits.find(setup.definition.name); limit != limits.end()) {
    for (const auto& quality : baseline) {
      if (accuracy ? quality.value >= limit->second : quality.value <= limit->second) continue;
      judgement.worsen(Verdict::kQualityLost, "seed " + std::to_string(quality.seed) + " ends with " +
                                                  metric.words(quality.value) + ", the rules ask for " +
                                                  text(limit->second));
    }
  }
  return json;
}

}  // namespace ampgate::validate
