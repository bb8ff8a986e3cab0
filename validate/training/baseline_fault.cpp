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
constexpr double kLowered[] = {1e-2, 1e-4, 1e-6};
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

bool heals(const TrainingSetup& setup, double factor, std::size_t steps) {
  const auto trainer = setup.trainer(usual_way(precision::baseline()), setup.session.seed);
  for (const auto& optimizer : trainer->optimizers())
    optimizer->set_learning_rate(optimizer->learning_rate() * factor);
  return !fails(watch(*trainer, static_cast<int>(steps), {}));
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
  const double first = std::max(run.steps.front().loss, 1e-3);
  const double last = run.steps.back().loss;
  return last > kDiverged * first ||
         (highest_loss(run).first > kDiverged * first && last >= run.steps.front().loss);
}

bool makes_no_progress(const WatchedRun& run) {
  const std::size_t fifth = run.steps.size() / 5;
  double change = 0;
  for (std::size_t i = 0; i < fifth; ++i)
    change += run.steps[run.steps.size() - 1 - i].loss - run.steps[i].loss;
  return fifth > 0 && change >= 0;
}

std::string fault_of_baseline(const TrainingSetup& setup, const WatchedRun& run, bool overflow) {
  const auto [highest, step] = highest_loss(run);
  const double first = run.steps.front().loss;
  if (!fails_before_any_update(run) && (overflow || highest > kDiverged * std::max(first, 1e-3))) {
    for (const double factor : kLowered) {
      if (!heals(setup, factor, run.steps.size())) continue;
      return "the learning rate is too high: the loss goes from " + text(first) + " to " + text(highest) +
             " at step " + std::to_string(step) + ", and with " + text(factor) + " times the rate " +
             std::to_string(run.steps.size()) +
             " steps stay finite and do not diverge. Lower it; no precision heals that";
    }
  }
  return "FP32 fails by itself: change the model or its data, not the precision";
}

}  // namespace ampgate::validate
