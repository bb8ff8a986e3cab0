#include "validate/training/baseline_fault.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "cases/execute.h"
#include "validate/case_fault.h"
#include "validate/decisions/score_rows.h"
#include "validate/text.h"

namespace ampgate::validate {
namespace {

constexpr double kDiverged = 10;
constexpr double kLowered = 0.01;
constexpr std::int64_t kIgnored = -100;  // PyTorch's ignore_index

std::int64_t classes_of(const TrainingSetup& setup, const cases::Decisions& rule) {
  const at::NoGradGuard no_grad;
  cases::State batch = setup.oracle(setup.session.seed)->next_batch();
  const at::Tensor scores = setup.definition.run(batch)[rule.output];
  return scores.size(-1);
}

// The largest finite loss, and the step that had it.
std::pair<double, std::size_t> highest_loss(const WatchedRun& run) {
  std::pair<double, std::size_t> highest{0, 0};
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    if (std::isfinite(run.steps[i].loss) && run.steps[i].loss > highest.first)
      highest = {run.steps[i].loss, i};
  }
  return highest;
}

bool fails(const WatchedRun& run) { return run.bad_step.has_value() || diverges(run); }

// Before the first update the learning rate has no part in anything.
bool fails_before_any_update(const WatchedRun& run) {
  const StepReport& first = run.steps.front();
  return !std::isfinite(first.loss) || first.nonfinite > 0;
}

bool lower_rates_heal(const TrainingSetup& setup, int steps) {
  const auto trainer = setup.trainer(usual_way(precision::baseline()), setup.session.seed);
  for (const auto& optimizer : trainer->optimizers())
    optimizer->set_learning_rate(optimizer->learning_rate() * kLowered);
  return !fails(watch(*trainer, steps, {}));
}

}  // namespace

void check_labels(const TrainingSetup& setup) {
  const cases::Facts facts = setup.definition.facts(setup.shape);
  if (!facts.decisions || facts.decisions->labels.empty() || decides_single_scores(*facts.decisions)) return;
  const cases::State original = setup.original(setup.session.seed);
  std::vector<std::string> names{facts.decisions->labels};
  for (const auto& [rows, held_out] : setup.definition.training->rows) {
    if (rows == facts.decisions->labels) names.push_back(held_out);
  }
  const std::int64_t classes = classes_of(setup, *facts.decisions);
  for (const auto& name : names) {
    const at::Tensor* labels = original.find(name);
    if (labels == nullptr) throw CaseFault("it has no tensor '" + name + "' of labels");
    const at::Tensor wrong =
        labels->lt(0).logical_or(labels->ge(classes)).logical_and(labels->ne(kIgnored)).flatten().nonzero();
    if (wrong.size(0) == 0) continue;
    const auto first = wrong[0].item<std::int64_t>();
    throw CaseFault("label " + std::to_string(labels->flatten()[first].item<std::int64_t>()) + " at '" +
                    name + "[" + std::to_string(first) + "]' is out of range: the model has " +
                    std::to_string(classes) + " classes, 0 to " + std::to_string(classes - 1) +
                    ". Change the data, not the precision");
  }
}

bool diverges(const WatchedRun& run) {
  return run.steps.back().loss > kDiverged * std::max(run.steps.front().loss, 1e-3);
}

std::string fault_of_baseline(const TrainingSetup& setup, const WatchedRun& run) {
  if (!fails_before_any_update(run) && lower_rates_heal(setup, static_cast<int>(run.steps.size()))) {
    const auto [loss, step] = highest_loss(run);
    return "the learning rate is too high: the loss goes from " + text(run.steps.front().loss) + " to " +
           text(loss) + " at step " + std::to_string(step) + ", and with a hundredth of the rate " +
           std::to_string(run.steps.size()) +
           " steps stay finite and do not diverge. Lower it; no precision heals that";
  }
  return "FP32 fails by itself: change the model or its data, not the precision";
}

}  // namespace ampgate::validate
