#include "validate/inputs/operands.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace ampgate::validate {
namespace {

std::vector<std::int64_t> last_dims(const at::Tensor& tensor, std::size_t count) {
  std::vector<std::int64_t> dims(std::min(count, static_cast<std::size_t>(tensor.dim())));
  std::iota(dims.begin(), dims.end(), tensor.dim() - std::ssize(dims));
  return dims;
}

// `dims` of "x"; negative ones count from the end.
std::vector<std::int64_t> named_dims(const cases::BoundSpec& bound, const at::Tensor& x) {
  std::vector<std::int64_t> dims = bound.dims;
  for (auto& dim : dims) dim = dim < 0 ? dim + x.dim() : dim;
  std::sort(dims.begin(), dims.end());
  return dims;
}

std::vector<std::int64_t> meeting_dims(const cases::BoundSpec& bound, const at::Tensor& x) {
  using cases::Family;
  switch (bound.family) {
    case Family::kLayerNorm:
    case Family::kRmsNorm:
      return last_dims(x, bound.dims.size());
    case Family::kGroupNorm:
      return last_dims(x, static_cast<std::size_t>(x.dim() - 1));
    default:
      return named_dims(bound, x);
  }
}

}  // namespace

std::vector<DataOperand> data_operands(const cases::BoundSpec& bound, const cases::State& state) {
  using cases::Family;
  std::vector<DataOperand> operands;
  const auto add = [&](std::string_view name, auto&& dims_of) {
    for (std::size_t i = 0; i < state.tensors.size(); ++i) {
      if (state.tensors[i].is_called(name)) operands.push_back({i, dims_of(state[i])});
    }
  };
  const auto alone = [](const at::Tensor&) { return std::vector<std::int64_t>{}; };
  const auto dim = [](std::int64_t number) {
    return [number](const at::Tensor&) { return std::vector<std::int64_t>{number}; };
  };
  switch (bound.family) {
    case Family::kModel:
      break;
    case Family::kInnerProduct:
      for (const auto& [tensor, reduced] : bound.reduced) operands.push_back({tensor, {reduced}});
      break;
    case Family::kAttention:
      add("query", dim(3));
      add("key", dim(3));
      add("value", dim(2));
      break;
    case Family::kIndexAdd:
      add("self", alone);
      add("source", dim(bound.dims.empty() ? 0 : bound.dims.front()));
      break;
    case Family::kExact:
    case Family::kUnknown:
      for (std::size_t i = 0; i < state.tensors.size(); ++i) {
        if (state[i].is_floating_point()) operands.push_back({i, last_dims(state[i], 1)});
      }
      break;
    default:
      add("x", [&](const at::Tensor& x) { return meeting_dims(bound, x); });
  }
  return operands;
}

std::vector<std::size_t> added_tensors(const cases::BoundSpec& bound, const cases::State& state) {
  std::vector<std::size_t> added;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const bool multiplied = std::any_of(bound.reduced.begin(), bound.reduced.end(),
                                        [i](const cases::Axis& axis) { return axis.tensor == i; });
    if (state[i].is_floating_point() && !multiplied) added.push_back(i);
  }
  return added;
}

}  // namespace ampgate::validate
