// Tensors of a checkpoint that may be sparse, as momentum of sparse gradients is: "NAME", or its parts
// "NAME.indices", "NAME.values" and "NAME.coalesced", which keep every bit and the order.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace ampgate::cases {

using NamedTensors = std::map<std::string, at::Tensor>;

// Copies.
void put_parts(NamedTensors& tensors, const std::string& name, const at::Tensor& tensor);

// Undefined where nothing is there. A sparse one gets these sizes; throws std::invalid_argument for parts
// that do not make such a tensor.
at::Tensor take_parts(const NamedTensors& tensors, const std::string& name, at::IntArrayRef sizes);

// The names that take_parts() looked at.
std::vector<std::string> part_names(const NamedTensors& tensors, const std::string& name);

}  // namespace ampgate::cases
