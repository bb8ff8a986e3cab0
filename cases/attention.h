// Attention by its definition, for the oracles of everything that attends.
#pragma once

#include <ATen/core/Tensor.h>

namespace ampgate::cases {

// softmax(query key^T / sqrt(D)) value, from plain operators; all three (..., length, D). LibTorch's fused
// CPU kernel is not that function on every input, in FP64 neither: a NaN query gives 0.
at::Tensor attention_by_definition(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value);

}  // namespace ampgate::cases
