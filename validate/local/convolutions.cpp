// Convolutions and transposed ones, with groups.
#include <ATen/ATen.h>

#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

using cases::Family;

std::int64_t integer(const LocalCall& call, std::string_view name, std::int64_t otherwise) {
  const auto position = call.find(name);
  return position && call.arguments[*position].isInt() ? call.arguments[*position].toInt() : otherwise;
}

// Channels (N, C, ...) seen as (N, groups, C / groups, ...), so that all groups are cut along one axis.
LocalProblem grouped(LocalProblem problem, std::int64_t groups) {
  at::Tensor& x = problem.state.tensors[0].tensor;
  x = x.unflatten(1, {groups, x.size(1) / groups});
  problem.spec.reduced = {{0, 2}, {1, 1}};
  problem.evaluate = [inner = std::move(problem.evaluate)](const cases::State& state) {
    cases::State flat = state;
    flat.tensors[0].tensor = state[0].flatten(1, 2);
    return inner(flat);
  };
  return problem;
}

std::optional<LocalProblem> forward(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  const at::Tensor& weight = call.tensor(1);
  const std::int64_t groups = integer(call, "groups", 1);
  const bool batched = x.dim() == weight.dim();
  if (groups > 1 && !batched) return {};
  LocalProblem problem = call.of_itself({.family = Family::kInnerProduct,
                                         .length = weight.numel() / weight.size(0),
                                         .reduced = {{0, batched ? 1 : 0}, {1, 1}}},
                                        {{"x", 0}, {"weight", 1}, {"bias", 2}});
  if (batched) problem.independent = {0, {{0, 0}}};
  return groups > 1 ? grouped(std::move(problem), groups) : std::move(problem);
}

std::optional<LocalProblem> transposed(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  const at::Tensor& weight = call.tensor(1);
  if (integer(call, "groups", 1) != 1 || x.dim() != weight.dim()) return {};
  // Taps that reach one output: of those along a direction every stride-th one.
  const auto stride = call.arguments.at(*call.find("stride")).toIntVector();
  std::int64_t taps = 1;
  for (std::int64_t dim = 2; dim < weight.dim(); ++dim) {
    const std::int64_t step =
        stride[std::min<std::size_t>(stride.size() - 1, static_cast<std::size_t>(dim - 2))];
    taps *= (weight.size(dim) + step - 1) / step;
  }
  LocalProblem problem = call.of_itself({.family = Family::kInnerProduct,
                                         .length = x.size(1) * taps,
                                         .reduced = {{0, 1}, {1, 0}},
                                         .fp16_partials = taps},
                                        {{"x", 0}, {"weight", 1}, {"bias", 2}});
  problem.independent = {0, {{0, 0}}};
  return problem;
}

std::optional<LocalProblem> general(const LocalCall& call) {
  const auto position = call.find("transposed");
  return position && call.arguments[*position].toBool() ? transposed(call) : forward(call);
}

}  // namespace

void add_convolutions(Adapters& adapters) {
  for (const char* name : {"conv1d", "conv2d", "conv3d"}) adapters[name] = forward;
  for (const char* name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
    adapters[name] = transposed;
  for (const char* name : {"convolution", "_convolution"}) adapters[name] = general;
}

}  // namespace ampgate::validate::local
