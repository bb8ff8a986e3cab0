#include "validate/training/gradient_audit.h"

#include <algorithm>
#include <cmath>

#include "backends/digest.h"
#include "validate/text.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {

// Without a scaler nothing else changes them.
void GradientAudit::scaled_gradients() {
  if (trainer_.scales_gradients()) return;
  for (std::size_t i = 0; i < trainer_.optimizers().size(); ++i) before_[i] = look_at(i);
}

void GradientAudit::gradients(std::size_t optimizer) {
  if (trainer_.scales_gradients()) before_[optimizer] = look_at(optimizer);
}

void GradientAudit::stepping(std::size_t optimizer) {
  const Look now = look_at(optimizer), before = before_[optimizer];
  if (now.digests != before.digests) changed_ = true;
  if (std::isfinite(now.norm)) largest_ = std::max(largest_, now.norm);
  if (now.norm == 0 && before.norm > 0) ++zeroed_[optimizer];
}

std::vector<std::string> GradientAudit::unused() const {
  constexpr double kBeyond = 1.001;
  const double limit = trainer_.training().clip_norm;
  std::vector<std::string> words;
  if (limit > 0 && !trainer_.order().ever_clipped() && !changed_ && largest_ > kBeyond * limit) {
    words.push_back("clip_norm is " + text(limit) + ", and no step clips: gradients of norm " +
                    text(largest_) + " are stepped with");
  }
  for (const auto& [optimizer, steps] : zeroed_) {
    words.push_back("in " + std::to_string(steps) + " steps the gradients of " +
                    cases::optimizer_words(optimizer) + " are set to zero between backward and its step");
  }
  return words;
}

GradientAudit::Look GradientAudit::look_at(std::size_t optimizer) const {
  Look look;
  for (const auto& parameter : trainer_.optimizers()[optimizer]->parameters()) {
    if (!parameter.grad().defined()) continue;
    const at::Tensor values = values_of(parameter.grad());
    look.digests += backends::digest(values);
    look.norm = std::hypot(look.norm, values.to(at::kDouble).norm().item<double>());
  }
  return look;
}

}  // namespace ampgate::validate
