#include "validate/mutants.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/zeros_like.h>

#include <utility>
#include <vector>

namespace ampgate::validate {
namespace {

at::Tensor in_place_of(const at::Tensor& right, const at::Tensor& stale) {
  const std::int64_t copies = (right.numel() + stale.numel() - 1) / stale.numel();
  return stale.reshape({-1})
      .repeat({copies})
      .narrow(0, 0, right.numel())
      .to(right.scalar_type())
      .view(right.sizes());
}

std::vector<std::pair<std::string, at::Tensor>> mutants_of(const at::Tensor& right, const at::Tensor& stale) {
  const at::Scalar mean = right.to(at::kDouble).mean().item();
  std::vector<std::pair<std::string, at::Tensor>> mutants{
      {"all zeros", at::zeros_like(right)}, {"one constant, its mean", at::full_like(right, mean)}};
  if (right.numel() > 1) mutants.emplace_back("shifted by one element", at::roll(right, 1));
  if (right.dim() > 1) mutants.emplace_back("its rows permuted", at::roll(right, 1, 0));
  if (stale.defined() && stale.numel() > 0) {
    mutants.emplace_back("the output of the case before", in_place_of(right, stale));
  }
  return mutants;
}

}  // namespace

void Vacuity::try_on(const std::string& input, const cases::Outputs& rounded, const cases::Case& definition,
                     const at::Tensor& stale, const std::function<bool(const cases::Outputs&)>& accepts) {
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    for (auto& [name, mutant] : mutants_of(rounded[i], stale)) {
      if (at::equal(mutant, rounded[i])) continue;
      Fate& fate = fate_of(definition.outputs[i] + " as " + name);
      if (fate.refused) continue;
      cases::Outputs outputs = rounded;
      outputs[i] = std::move(mutant);
      if (accepts(outputs)) {
        fate.accepted_on += (fate.accepted_on.empty() ? "" : ", ") + input;
      } else {
        fate.refused = true;
      }
    }
  }
}

Vacuity::Fate& Vacuity::fate_of(const std::string& mutant) {
  for (Fate& fate : fates_) {
    if (fate.mutant == mutant) return fate;
  }
  return fates_.emplace_back(Fate{mutant});
}

std::string Vacuity::survivor() const {
  for (const Fate& fate : fates_) {
    if (!fate.refused) return fate.mutant + ", on " + fate.accepted_on + " inputs";
  }
  return {};
}

}  // namespace ampgate::validate
