#include "cases/independent.h"

#include <ATen/ops/index_select.h>

namespace ampgate::cases {

State select(const State& state, const IndependentAxis& axis, const at::Tensor& positions) {
  State result = state;
  for (const auto& [tensor, dim] : axis.operands) {
    at::Tensor& operand = result.tensors.at(tensor).tensor;
    operand = operand.index_select(dim, positions);
  }
  return result;
}

at::Tensor select(const at::Tensor& output, const IndependentAxis& axis, const at::Tensor& positions) {
  return output.index_select(axis.output_dim, positions);
}

std::vector<std::int64_t> whole_sizes(at::IntArrayRef part, const Facts& facts, const State& whole) {
  std::vector<std::int64_t> sizes = part.vec();
  for (const auto& axis : facts.independent) {
    const auto& [tensor, dim] = axis.operands.front();
    sizes.at(static_cast<std::size_t>(axis.output_dim)) = whole[tensor].size(dim);
  }
  return sizes;
}

}  // namespace ampgate::cases
