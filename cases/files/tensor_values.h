// The values of a case file's tensors: drawn, given as numbers, or by a rule.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "cases/fills.h"
#include "results/node.h"

namespace ampgate::cases::files {

using results::Node;

// Floating tensors of a case are FP32; what they are compared with may need more.
enum class Holding { kFp32, kWhole };

// A tensor's type in the file, and the type that holds its values here.
struct Types {
  at::ScalarType file;
  at::ScalarType here;
};

Types types_of(at::ScalarType file, Holding holding);

// Makes a tensor of fixed sizes; the name keys what is drawn. Of kind kNone sizes and type alone.
using Values = std::function<at::Tensor(const Fill& fill, std::string_view name)>;

// What no fill replaces: `values`, as the file's type holds them.
Values constant_values(const std::vector<std::int64_t>& sizes, const Types& types,
                       std::function<at::Tensor()> values);

// "ones", or {"normal": {"scale": 2}}. Throws what `node` throws.
Values read_fill(const Node& node, const std::vector<std::int64_t>& sizes, const Types& types);

// Numbers in arrays in arrays, whose shape is theirs; or the elements of `shape` in a row.
struct Literal {
  std::vector<std::int64_t> sizes;
  Values values;
};
Literal read_values(const Node& node, const std::optional<std::vector<std::int64_t>>& shape,
                    const Types& types);

}  // namespace ampgate::cases::files
