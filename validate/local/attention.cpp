// Fused attention: with masks, causal, scaled, and with fewer key heads than query heads.
#include <ATen/ATen.h>

#include <cmath>

#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

// What is added to the scores: 0 or -inf for masks of truth values.
at::Tensor additive(const at::Tensor& mask) {
  if (mask.scalar_type() != at::kBool) return mask;
  return at::zeros(mask.sizes(), at::kDouble).masked_fill_(mask.logical_not(), -INFINITY);
}

cases::Outputs by_definition(const cases::State& state) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(state[0].size(-1)));
  at::Tensor scores = at::matmul(state[0], state[1].transpose(-2, -1)).mul_(scale);
  const bool masked = state.tensors.size() > 3;
  if (masked) scores = scores + state[3];
  at::Tensor p = at::softmax(scores, -1);
  // Nothing to attend to: 0, as LibTorch's definition has it.
  if (masked) p.masked_fill_(state[3].eq(-INFINITY).all(-1, true), 0.0);
  return {at::matmul(p, state[2])};
}

std::optional<LocalProblem> attention(const LocalCall& call) {
  if (call.number(4).value_or(0.0) != 0.0) return {};
  at::Tensor query = call.tensor(0);
  at::Tensor key = call.tensor(1);
  at::Tensor value = call.tensor(2);
  if (query.dim() < 3 || key.dim() != query.dim() || value.dim() != query.dim()) return {};
  // The bound's scale is 1/sqrt(D): another one goes into the query.
  if (const auto scale = call.number(6))
    query = query * (*scale * std::sqrt(static_cast<double>(query.size(-1))));
  if (call.arguments.at(7).toBool() && key.size(-3) != query.size(-3)) {
    key = key.repeat_interleave(query.size(-3) / key.size(-3), -3);
    value = value.repeat_interleave(query.size(-3) / value.size(-3), -3);
  }
  at::Tensor mask;
  if (call.is_tensor(3) && call.tensor(3).defined()) {
    mask = additive(call.tensor(3));
  } else if (call.arguments.at(5).toBool()) {
    mask = additive(at::ones({query.size(-2), key.size(-2)}, at::kBool).tril());
  }
  LocalProblem problem{{.family = cases::Family::kAttention, .length = key.size(-2)},
                       {{{"query", query}, {"key", key}, {"value", value}}},
                       by_definition,
                       {call.view.outputs.at(0)}};
  problem.independent = {0, {{0, 0}, {1, 0}, {2, 0}}};
  if (mask.defined()) {
    problem.state.tensors.push_back({"mask", mask});
    if (mask.dim() == query.dim() && mask.size(0) > 1) problem.independent->operands.push_back({3, 0});
  }
  return problem;
}

}  // namespace

void add_attention(Adapters& adapters) { adapters["scaled_dot_product_attention"] = attention; }

}  // namespace ampgate::validate::local
