// A sequence of calls of a gradient scaler, as read from a file. docs/scaler-trace.md describes the format.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "precision/grad_scaler.h"
#include "results/json.h"

namespace ampgate::validate::scaler_trace {

// The operations, one for each method of the scaler, and `Gradients` for what backward leaves behind.
struct Scale {};
struct Gradients {
  std::vector<std::vector<at::Tensor>> of;  // [optimizer][parameter], undefined where there is none
};
struct Unscale {
  std::size_t optimizer;
};
struct Step {
  std::size_t optimizer;
  bool with_closure;
};
struct Update {};
struct UpdateTo {
  double scale;
};
struct UpdateToInt {};  // an int in Python, whatever its value
struct UpdateToTensor {
  at::Tensor scale;
};
struct Save {};
struct Load {
  std::optional<precision::GradScalerState> state;  // nothing: what the last `Save` kept
};
struct SetGrowthFactor {
  double factor;
};
struct SetBackoffFactor {
  double factor;
};
struct SetGrowthInterval {
  std::int64_t interval;
};
using Call = std::variant<Scale, Gradients, Unscale, Step, Update, UpdateTo, UpdateToInt, UpdateToTensor,
                          Save, Load, SetGrowthFactor, SetBackoffFactor, SetGrowthInterval>;

struct Op {
  std::string name;  // as in the file
  Call call;
};

struct Sequence {
  precision::GradScaler scaler;
  std::vector<std::size_t> parameters;  // how many each optimizer has
  std::vector<Op> ops;
};

// Throws results::FileError that names `where` and the JSON pointer for unknown keys and ops, wrong types,
// lengths and numbers, optimizers out of range, a `load` before any `save`, and factors that the scaler
// refuses.
Sequence read_sequence(const results::Json& document, const std::string& where);

}  // namespace ampgate::validate::scaler_trace
