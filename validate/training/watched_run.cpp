#include "validate/training/watched_run.h"

#include <algorithm>
#include <cmath>

#include "backends/digest.h"
#include "validate/finite.h"
#include "validate/training/bad_step.h"

namespace ampgate::validate {
namespace {

template <typename Visit>
void for_each_gradient(const cases::Trainer& trainer, Visit visit) {
  for (const auto& optimizer : trainer.optimizers()) {
    for (const auto& parameter : optimizer->parameters()) visit(parameter.grad());
  }
}

GradientStats stats_of(const at::Tensor& gradient) {
  GradientStats stats;
  if (!gradient.defined() || gradient.numel() == 0) return stats;
  const at::Tensor values = values_of(gradient);
  const FiniteScan scan = scan_finite(values);
  stats.nonfinite = scan.nans + scan.infinities;
  stats.largest = scan.largest;
  stats.norm = values.to(at::kDouble).norm().item<double>();
  stats.zeros = static_cast<double>((values == 0).sum().item<std::int64_t>()) /
                static_cast<double>(std::max<std::int64_t>(1, values.numel()));
  return stats;
}

class Watcher : public cases::StepObserver {
 public:
  Watcher(const cases::Trainer& trainer, StepReport& report) : trainer_(trainer), report_(report) {}

  void loss(const at::Tensor& loss) override {
    report_.loss += loss.item<double>() / trainer_.training().micro_batches;
  }
  void scaled_gradients() override {
    for_each_gradient(trainer_, [&](const at::Tensor& gradient) {
      if (!gradient.defined()) return;
      const FiniteScan scan = scan_finite(values_of(gradient));
      report_.scaled_nonfinite += scan.nans + scan.infinities;
    });
  }
  void stepping(std::size_t optimizer) override {
    report_.rates[optimizer] = trainer_.optimizers()[optimizer]->learning_rate();
  }
  void gradients(std::size_t optimizer) override {
    std::size_t number = 0;  // of its first parameter
    for (std::size_t i = 0; i < optimizer; ++i) number += trainer_.optimizers()[i]->parameters().size();
    for (const auto& parameter : trainer_.optimizers()[optimizer]->parameters()) {
      report_.gradients.at(number) = stats_of(parameter.grad());
      report_.nonfinite += report_.gradients[number++]->nonfinite;
    }
  }

 private:
  const cases::Trainer& trainer_;
  StepReport& report_;
};

bool weights_are_finite(const cases::Trainer& trainer) {
  const auto& tensors = trainer.state().tensors;
  return std::all_of(tensors.begin(), tensors.end(), [](const cases::NamedTensor& entry) {
    return entry.role != cases::Role::kWeight || scan_finite(entry.tensor).finite();
  });
}

// By optimizer, then by parameter.
using Digests = std::vector<std::vector<std::string>>;

Digests digests_of(const cases::Trainer& trainer) {
  Digests digests;
  for (const auto& optimizer : trainer.optimizers()) {
    digests.emplace_back();
    for (const auto& parameter : optimizer->parameters())
      digests.back().push_back(backends::digest(parameter.detach()));
  }
  return digests;
}

void note_changes(const Digests& before, const Digests& after, StepReport& report,
                  std::vector<bool>& trained) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool changed = after[i] != before[i];
    const bool unchanged = report.stepped[i] && !changed;
    report.at_rest.push_back(unchanged && report.rates[i] == 0);
    report.unchanged.push_back(unchanged && report.rates[i] != 0);
    report.changed_in_skip.push_back(report.called[i] && !report.stepped[i] && changed);
    report.zero_gradients.push_back(true);
    for (std::size_t j = 0; j < after[i].size(); ++j, ++number) {
      trained[number] = trained[number] || after[i][j] != before[i][j];
      if (report.gradients[number] && report.gradients[number]->norm != 0) report.zero_gradients[i] = false;
    }
  }
}

bool any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

}  // namespace

at::Tensor values_of(const at::Tensor& gradient) {
  return gradient.is_sparse() ? gradient._values() : gradient;
}

std::string weights_digest(const cases::Trainer& trainer) {
  return backends::digest_of_all(trainer.weights());
}

WatchedRun watch(cases::Trainer& trainer, int steps, const std::vector<int>& shadow_at) {
  WatchedRun run;
  run.first_step = trainer.iteration();
  for (const auto& optimizer : trainer.optimizers()) {
    for (std::size_t i = 0; i < optimizer->parameters().size(); ++i)
      run.parameters.push_back(optimizer->name(i));
  }
  run.trained.resize(run.parameters.size());
  Digests before = digests_of(trainer);
  BadStep bad;
  for (int number = 0; number < steps; ++number) {
    std::optional<cases::Checkpoint> state;
    if (!bad.is_final()) state = trainer.save();
    if (std::find(shadow_at.begin(), shadow_at.end(), number) != shadow_at.end()) {
      run.shadows.push_back(state ? *state : trainer.save());
    }
    StepReport report;
    report.gradients.resize(run.parameters.size());
    report.rates.resize(trainer.optimizers().size());
    report.scale = trainer.scale();
    Watcher watcher(trainer, report);
    trainer.run_step(&watcher);
    report.growth_tracker = trainer.growth_tracker();
    report.called = trainer.step_called();
    report.stepped = trainer.stepped();
    for (const auto& optimizer : trainer.optimizers())
      report.learning_rates.push_back(optimizer->learning_rate());
    report.weights_finite = weights_are_finite(trainer);
    report.weights = weights_digest(trainer);
    Digests after = digests_of(trainer);
    note_changes(before, after, report, run.trained);
    before = std::move(after);
    if (state && !run.before_unchanged && any(report.unchanged) && report.applied())
      run.before_unchanged = *state;
    if (state) bad.note(static_cast<std::size_t>(number), report, *std::move(state));
    run.steps.push_back(std::move(report));
  }
  bad.put_into(run);
  return run;
}

}  // namespace ampgate::validate
