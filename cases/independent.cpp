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

}  // namespace ampgate::cases
