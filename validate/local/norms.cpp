// Normalisations.
#include <ATen/ATen.h>

#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

using cases::Family;

std::optional<LocalProblem> layer_norm(const LocalCall& call) {
  const auto shape = call.arguments.at(1).toIntVector();
  LocalProblem problem = call.of_itself({.family = Family::kLayerNorm,
                                         .dims = std::vector<std::int64_t>(shape.size(), 0),
                                         .eps = call.number(4).value()},
                                        {{"x", 0}, {"weight", 2}, {"bias", 3}});
  if (call.tensor(0).dim() > std::ssize(shape)) problem.independent = {0, {{0, 0}}};
  return problem;
}

std::optional<LocalProblem> rms_norm(const LocalCall& call) {
  std::int64_t length = 1;
  const auto shape = call.arguments.at(1).toIntVector();
  for (const auto size : shape) length *= size;
  LocalProblem problem =
      call.of_itself({.family = Family::kRmsNorm, .length = length}, {{"x", 0}, {"weight", 2}});
  if (call.tensor(0).dim() > std::ssize(shape)) problem.independent = {0, {{0, 0}}};
  return problem;
}

std::optional<LocalProblem> group_norm(const LocalCall& call) {
  LocalProblem problem = call.of_itself(
      {.family = Family::kGroupNorm, .groups = call.arguments.at(1).toInt(), .eps = call.number(4).value()},
      {{"x", 0}, {"weight", 2}, {"bias", 3}});
  problem.independent = {0, {{0, 0}}};
  return problem;
}

std::optional<LocalProblem> batch_norm(const LocalCall& call) {
  const bool has_statistics = call.is_tensor(3) && call.tensor(3).defined() && call.is_tensor(4);
  if (call.arguments.at(5).toBool() || !has_statistics) return {};
  LocalProblem problem = call.of_itself({.family = Family::kBatchNormEval, .eps = call.number(7).value()},
                                        {{"x", 0}, {"weight", 1}, {"bias", 2}, {"mean", 3}, {"variance", 4}});
  problem.independent = {0, {{0, 0}}};
  return problem;
}

}  // namespace

void add_norms(Adapters& adapters) {
  adapters["layer_norm"] = layer_norm;
  adapters["native_layer_norm"] = layer_norm;
  adapters["rms_norm"] = rms_norm;
  adapters["group_norm"] = group_norm;
  adapters["batch_norm"] = batch_norm;
}

}  // namespace ampgate::validate::local
