#include "validate/mutants.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/roll.h>
#include <ATen/ops/zeros_like.h>

#include <utility>
#include <vector>

namespace ampgate::validate {
namespace {

std::vector<std::pair<std::string, at::Tensor>> mutants_of(const at::Tensor& right) {
  const at::Scalar mean = right.to(at::kDouble).mean().item();
  std::vector<std::pair<std::string, at::Tensor>> mutants{
      {"all zeros", at::zeros_like(right)}, {"one constant, its mean", at::full_like(right, mean)}};
  if (right.numel() > 1) mutants.emplace_back("shifted by one element", at::roll(right, 1));
  if (right.dim() > 1) mutants.emplace_back("its rows permuted", at::roll(right, 1, 0));
  return mutants;
}

}  // namespace

std::string surviving_mutant(const cases::Outputs& rounded, const cases::Case& definition,
                             const std::function<bool(const cases::Outputs&)>& accepts) {
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    for (auto& [name, mutant] : mutants_of(rounded[i])) {
      if (at::equal(mutant, rounded[i])) continue;
      cases::Outputs outputs = rounded;
      outputs[i] = std::move(mutant);
      if (accepts(outputs)) return definition.outputs[i] + " as " + name;
    }
  }
  return {};
}

}  // namespace ampgate::validate
