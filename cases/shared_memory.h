// Do two tensors lie in the same memory, whoever says so? A tensor made of a pointer has a storage of its
// own.
#pragma once

#include <ATen/core/Tensor.h>

namespace ampgate::cases {

// Dense tensors on any device; false where one has no elements. What lies between the first and the last
// element counts, with gaps.
bool share_memory(const at::Tensor& a, const at::Tensor& b);

}  // namespace ampgate::cases
