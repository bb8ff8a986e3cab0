// Tensors of a sequence file: from JSON, and back as it stands after an operation.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "results/node.h"

namespace ampgate::validate::scaler_trace {

using results::Node;

struct Parameter {
  std::vector<std::int64_t> shape;
  c10::ScalarType type;
};

// "float32", "float16", "bfloat16", "float64".
c10::ScalarType read_type(const Node& node);

std::vector<std::int64_t> read_shape(const Node& node);

// `shape` from an array of its elements in row-major order, each rounded to `type` as LibTorch rounds a
// float64.
at::Tensor read_tensor(const Node& values, const std::vector<std::int64_t>& shape, c10::ScalarType type);

// A gradient of that parameter: undefined for null; sparse where there are `indices`.
at::Tensor read_gradient(const Node& node, const Parameter& parameter);

// The reverse: null, or an object with "values", "dtype" and for sparse gradients "indices".
results::Json gradient_json(const at::Tensor& gradient);

// The shortest decimal number that reads back as the same float64; "nan", "inf", "-inf".
std::string shortest(double value);

}  // namespace ampgate::validate::scaler_trace
