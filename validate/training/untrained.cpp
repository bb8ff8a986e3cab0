#include "validate/training/untrained.h"

#include <ATen/ops/_unique2.h>

#include <algorithm>
#include <cmath>

#include "validate/text.h"
#include "validate/training/final_quality.h"

namespace ampgate::validate {
namespace {

using results::Json;

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

double mean_of(const std::vector<FinalQuality>& qualities) {
  double sum = 0;
  for (const auto& quality : qualities) sum += quality.value;
  return sum / static_cast<double>(qualities.size());
}

}  // namespace

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

std::string why_meaningless(const QualityMetric& metric, const std::vector<FinalQuality>& baseline,
                            const Untrained& untrained, Json& quality) {
  quality["untrained"] = by_seed(untrained.fresh);
  quality["chance"] = by_seed(untrained.chance);
  if (metric.shown_worse(baseline, untrained.chance, 0)) return "";
  // A model that has only learned which answer is the most frequent one is better than at first, too, and
  // errors fall with any step, however small: by as much as the rules allow by default, or ask for.
  const double margin = std::min(metric.margin(), std::log(results::Rules::Training{}.max_rmse_ratio));
  if (!metric.accuracy() && metric.shown_worse(baseline, untrained.fresh, margin)) return "";
  return "the FP32 training itself ends with " + metric.words(mean_of(baseline)) + ", where " +
         (metric.accuracy() ? "one answer for everything has " : "one number for everything has ") +
         text(mean_of(untrained.chance)) +
         (metric.accuracy() ? "" : " and the untrained model " + text(mean_of(untrained.fresh))) +
         ", which over " + std::to_string(baseline.size()) +
         " seeds is not shown to be worse: a model that learns nothing would pass as well";
}

}  // namespace ampgate::validate
