#include "validate/training/scale_audit.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "validate/text.h"

namespace ampgate::validate {
namespace {

using cases::Misuse;

// Far apart, so that a limit lies between them; the later ones for gradients that overflow FP32 with the
// first.
struct Scales {
  double high, low;
};
constexpr Scales kScales[] = {{4294967296.0, 1.0}, {65536.0, 1.0}, {1.0, 1.0 / 65536}};

constexpr double kSame = 1e-3;    // of the norm: what is not repeatable to the last bit differs by less
constexpr double kTiny = 1e-30;   // a norm near FP32's subnormals loses bits with the lower scale
constexpr double kOfSpread = 10;  // times what two runs with one scale differ by

double norm_of(const at::Tensor& tensor) { return tensor.to(at::kDouble).norm().item<double>(); }

// One step: the gradients that the optimizers stepped with, by parameter, and the weights after it.
struct Taken {
  bool applied = false;
  std::vector<at::Tensor> gradients;  // undefined where there is none, or no step was called
  std::vector<at::Tensor> weights;
};

class KeepGradients : public cases::StepObserver {
 public:
  KeepGradients(const cases::Trainer& trainer, Taken& taken) : trainer_(trainer), taken_(taken) {
    for (const auto& optimizer : trainer.optimizers())
      taken.gradients.resize(taken.gradients.size() + optimizer->parameters().size());
  }
  void stepping(std::size_t optimizer) override {
    std::size_t number = 0;
    for (std::size_t i = 0; i < optimizer; ++i) number += trainer_.optimizers()[i]->parameters().size();
    for (const auto& parameter : trainer_.optimizers()[optimizer]->parameters()) {
      if (parameter.grad().defined()) taken_.gradients[number] = parameter.grad().to_dense().clone();
      ++number;
    }
  }

 private:
  const cases::Trainer& trainer_;
  Taken& taken_;
};

cases::Checkpoint with_scale(cases::Checkpoint state, double scale) {
  results::Json& scaler = state.state.at("scaler");
  scaler["scale"] = scale;
  scaler["growth_tracker"] = 0;  // it never grows
  return state;
}

Taken take_step(cases::Trainer& trainer, const cases::Checkpoint& state, double scale) {
  trainer.restore(with_scale(state, scale));
  Taken taken;
  KeepGradients keep(trainer, taken);
  trainer.run_step(&keep);
  taken.applied = trainer.stepped() == trainer.step_called();
  for (const auto& optimizer : trainer.optimizers()) {
    for (const auto& parameter : optimizer->parameters()) taken.weights.push_back(parameter.detach().clone());
  }
  return taken;
}

// Relative to the larger of the norms; nothing where both are too small to say.
double difference(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined() ? 0 : 1;
  const double larger = std::max(norm_of(a), norm_of(b));
  return larger > kTiny ? norm_of(a - b) / larger : 0;
}

struct Found {
  std::size_t parameter = 0;
  double difference = 0;
};

// The parameter whose tensors differ most.
Found most_different(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  Found found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const double own = difference(a[i], b[i]); own > found.difference) found = {i, own};
  }
  return found;
}

// What the step added to the weights.
std::vector<at::Tensor> updates_of(const Taken& taken, const std::vector<at::Tensor>& before) {
  std::vector<at::Tensor> updates;
  for (std::size_t i = 0; i < before.size(); ++i)
    updates.push_back(taken.weights[i].to(at::kDouble) - before[i].to(at::kDouble));
  return updates;
}

class ScaleAudit {
 public:
  ScaleAudit(const TrainingSetup& setup, const std::string& clipping)
      : clipping_(clipping),
        trainer_(setup.trainer({precision::baseline(), true}, setup.session.seed)),
        other_(setup.trainer({precision::baseline(), true}, setup.session.seed)) {
    for (const auto& optimizer : trainer_->optimizers()) {
      for (std::size_t i = 0; i < optimizer->parameters().size(); ++i) names_.push_back(optimizer->name(i));
    }
  }

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      if (!compare_step(step)) return;
    }
  }

 private:
  // False: no scale gives a step that is applied, and nothing can be told.
  bool compare_step(int number) {
    const cases::Checkpoint state = trainer_->save();
    std::vector<at::Tensor> before;
    for (const auto& weight : parameters()) before.push_back(weight.detach().clone());
    for (; at_ < std::size(kScales); ++at_) {
      const auto [high, low] = kScales[at_];
      const Taken b = take_step(*other_, state, low);
      const Taken a = take_step(*trainer_, state, high);  // the training goes on from here
      if (!a.applied || !b.applied) continue;
      const auto [parameter, differs] = most_different(a.gradients, b.gradients);
      if (differs > kSame) {
        const Taken again = take_step(*other_, state, high);
        if (differs > kOfSpread * most_different(a.gradients, again.gradients).difference)
          accuse_gradient(number, parameter, norm_of(a.gradients[parameter]),
                          norm_of(b.gradients[parameter]));
        return true;
      }
      if (differs == 0) compare_weights(number, state, before, a, b);
      return true;
    }
    return false;
  }

  // The same gradients, and other updates: weights are written beside the optimizers.
  void compare_weights(int number, const cases::Checkpoint& state, const std::vector<at::Tensor>& before,
                       const Taken& a, const Taken& b) {
    const auto updates = updates_of(a, before);
    const auto [parameter, differs] = most_different(updates, updates_of(b, before));
    if (differs <= kSame) return;
    const Taken again = take_step(*other_, state, kScales[at_].high);
    if (differs <= kOfSpread * most_different(updates, updates_of(again, before)).difference) return;
    throw Misuse("'" + names_[parameter] + "' is updated in a way that depends on the scale (" +
                 where(number) +
                 "): weights are changed with gradients that are still scaled, beside the scaler's step");
  }

  [[noreturn]] void accuse_gradient(int number, std::size_t parameter, double high, double low) const {
    if (!clipping_.empty()) {
      throw Misuse(clipping_ + " before it is unscaled: the limit is compared with scaled values (" +
                   where(number) + " the gradient that '" + names_[parameter] +
                   "' is stepped with has norm " + text(high) + " with a scale of " +
                   text(kScales[at_].high) + ", and " + text(low) + " with " + text(kScales[at_].low) + ")");
    }
    throw Misuse("the gradient of '" + names_[parameter] +
                 "' is changed before it is unscaled, as clipping before unscale does: the one that the "
                 "optimizer steps with depends on the scale (" +
                 where(number) + " its norm is " + text(high) + " with a scale of " +
                 text(kScales[at_].high) + ", and " + text(low) + " with " + text(kScales[at_].low) + ")");
  }

  static std::string where(int number) { return "at step " + std::to_string(number) + " in FP32"; }

  std::vector<at::Tensor> parameters() const {
    std::vector<at::Tensor> all;
    for (const auto& optimizer : trainer_->optimizers())
      all.insert(all.end(), optimizer->parameters().begin(), optimizer->parameters().end());
    return all;
  }

  const std::string& clipping_;
  std::unique_ptr<cases::Trainer> trainer_, other_;
  std::vector<std::string> names_;
  std::size_t at_ = 0;  // of the scales
};

}  // namespace

void audit_scale(const TrainingSetup& setup, const std::string& clipping) {
  ScaleAudit(setup, clipping).run(setup.session.rules.training.updates);
}

}  // namespace ampgate::validate
