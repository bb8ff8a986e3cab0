#include "cases/independent.h"

#include <ATen/ops/index_select.h>

#include <algorithm>
#include <numeric>

namespace ampgate::cases {

namespace {

// The operand's dimensions as they lie in memory, the largest stride first.
std::vector<std::int64_t> memory_order(const at::Tensor& tensor) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(tensor.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return tensor.stride(a) > tensor.stride(b); });
  return order;
}

// Kernels are chosen by the layout, and index_select by itself gives rows one after the other.
at::Tensor selected(const at::Tensor& operand, std::int64_t dim, const at::Tensor& positions) {
  if (operand.is_contiguous()) return operand.index_select(dim, positions);
  const auto order = memory_order(operand);
  std::vector<std::int64_t> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return operand.permute(order).index_select(back[static_cast<std::size_t>(dim)], positions).permute(back);
}

}  // namespace

State select(const State& state, const IndependentAxis& axis, const at::Tensor& positions) {
  State result = state;
  for (const auto& [tensor, dim] : axis.operands) {
    at::Tensor& operand = result.tensors.at(tensor).tensor;
    operand = selected(operand, dim, positions);
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
