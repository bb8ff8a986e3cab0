// The tensors of a dispatcher call, wherever they stand: alone, in lists, in lists of optional ones.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <functional>
#include <string_view>
#include <vector>

#include "cases/schemas.h"

namespace ampgate::validate {

using cases::is_allocation;
using cases::is_written;
using cases::returns_alias;
using cases::takes_no_values;

// A defined tensor of a floating type.
bool is_floating(const c10::IValue& value);

// Defined tensors in `value`, in order; empty for anything else.
std::vector<at::Tensor> tensors_in(const c10::IValue& value);

// The same value with each defined tensor replaced.
c10::IValue with_tensors(const c10::IValue& value,
                         const std::function<at::Tensor(const at::Tensor&)>& replacement);

// What a call leaves behind: its results, then the arguments that it wrote and did not return (foreach
// operators return nothing). `arguments` as they are after the call.
std::vector<at::Tensor> outputs_of(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                                   const torch::jit::Stack& results);

// The operator ignores what its first argument held before (copy_, fill_, normal_, ...).
bool overwrites(std::string_view name);

// `aten::add_` -> `add`: namespace and the underscore of in-place forms dropped.
std::string_view base_name(std::string_view name);

}  // namespace ampgate::validate
