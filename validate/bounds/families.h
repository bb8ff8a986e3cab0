// One function a family; bounds.cpp chooses. Each returns E for output number `output` of the context's case.
#pragma once

#include <cstddef>

#include "validate/bounds.h"

namespace ampgate::validate::bounds {

Bound exact(const BoundContext& context, std::size_t output);
Bound inner_product(const BoundContext& context, std::size_t output);
Bound sum(const BoundContext& context, std::size_t output);
Bound mean(const BoundContext& context, std::size_t output);
Bound cumsum(const BoundContext& context, std::size_t output);
Bound layer_norm(const BoundContext& context, std::size_t output);
Bound rms_norm(const BoundContext& context, std::size_t output);
Bound group_norm(const BoundContext& context, std::size_t output);
Bound batch_norm_eval(const BoundContext& context, std::size_t output);
Bound softmax(const BoundContext& context, std::size_t output);
Bound log_softmax(const BoundContext& context, std::size_t output);
Bound cross_entropy(const BoundContext& context, std::size_t output);
Bound gelu_erf(const BoundContext& context, std::size_t output);
Bound gelu_tanh(const BoundContext& context, std::size_t output);
Bound silu(const BoundContext& context, std::size_t output);
Bound sigmoid(const BoundContext& context, std::size_t output);
Bound tanh(const BoundContext& context, std::size_t output);
Bound relu(const BoundContext& context, std::size_t output);
Bound sqrt(const BoundContext& context, std::size_t output);
Bound rsqrt(const BoundContext& context, std::size_t output);
Bound log(const BoundContext& context, std::size_t output);
Bound erf(const BoundContext& context, std::size_t output);
Bound exp(const BoundContext& context, std::size_t output);
Bound attention(const BoundContext& context, std::size_t output);
Bound arithmetic(const BoundContext& context, std::size_t output);
Bound unary(const BoundContext& context, std::size_t output);
Bound activation(const BoundContext& context, std::size_t output);
Bound linear_map(const BoundContext& context, std::size_t output);
Bound conditioned(const BoundContext& context, std::size_t output);
Bound relative(const BoundContext& context, std::size_t output);
Bound error_ratio(const BoundContext& context, std::size_t output);
Bound index_add(const BoundContext& context, std::size_t output);

// For an operator that takes elements one by one and gives 16 bit: what results that its kernel keeps in that
// type on the way do is explained (`suspect`).
void allow_16_bit_steps(const BoundContext& context, std::size_t output, Bound& bound);

}  // namespace ampgate::validate::bounds
