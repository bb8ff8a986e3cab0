#include "validate/training/quality_metric.h"

#include <algorithm>
#include <cmath>

#include "results/noninferiority.h"
#include "validate/case_fault.h"
#include "validate/text.h"

namespace ampgate::validate {

QualityMetric::QualityMetric(const TrainingSetup& setup) {
  const cases::Facts facts = setup.definition.facts(setup.shape);
  const auto& rules = setup.session.rules.training;
  accuracy_ = facts.decisions.has_value();
  margin_ = accuracy_ ? rules.max_accuracy_loss : std::log(rules.max_rmse_ratio);
  if (accuracy_) return;
  const cases::State state = setup.original(setup.session.seed);
  if (const at::Tensor* targets = state.find(facts.targets); targets != nullptr)
    floor_ = 0x1p-24 * targets->to(at::kDouble).square().mean().sqrt().item<double>();
}

double QualityMetric::loss(double baseline, double trial) const {
  if (accuracy_) return baseline - trial;
  // Not std::max, which loses a NaN.
  const auto floored = [&](double value) { return value < floor_ ? floor_ : value; };
  return floored(trial) == floored(baseline) ? 0 : std::log(floored(trial) / floored(baseline));
}

std::vector<double> QualityMetric::losses(const std::vector<FinalQuality>& baseline,
                                          const std::vector<FinalQuality>& trial) const {
  std::vector<double> all;
  for (std::size_t i = 0; i < trial.size(); ++i) all.push_back(loss(baseline.at(i).value, trial[i].value));
  return all;
}

bool QualityMetric::shown_worse(const std::vector<FinalQuality>& baseline,
                                const std::vector<FinalQuality>& trial, double margin) const {
  // What is not finite is worse, and no number for a test.
  if (std::any_of(trial.begin(), trial.end(), [](const auto& one) { return !std::isfinite(one.value); }))
    return true;
  return results::test_noninferiority(losses(baseline, trial), margin).outcome ==
         results::NonInferiority::kWorse;
}

std::string QualityMetric::words(double value) const {
  return (accuracy_ ? "accuracy " : "RMSE ") + text(value);
}

std::string QualityMetric::loss_words(double loss) const {
  return accuracy_ ? text(100 * loss) + " points of accuracy"
                   : "a factor " + text(std::exp(loss)) + " in RMSE";
}

const at::Tensor& held_out(const cases::Trainer& trainer, const std::string& name, const char* what) {
  const at::Tensor* found = trainer.held_out().find(name);
  if (found == nullptr)
    throw CaseFault(std::string("it names no ") + what + " to try the trained model with: '" + name + "'");
  return *found;
}

results::Json by_seed(const std::vector<FinalQuality>& qualities) {
  results::Json values = results::Json::array();
  for (const auto& quality : qualities) values.push_back(results::number(quality.value));
  return values;
}

}  // namespace ampgate::validate
