// Does a tensor from a checkpoint fit the one whose place it takes?
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace ampgate::cases {

// Throws std::invalid_argument that names both sizes or both types. Without `same_types` any floating type
// fits a floating one.
void check_like(const std::string& name, const at::Tensor& tensor, const at::Tensor& own, bool same_types);

}  // namespace ampgate::cases
