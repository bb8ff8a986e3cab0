// Numbers among an operator's arguments (a slope, a threshold, an exponent): some kernels round them to the
// type of their tensors, others take them in FP32 or whole.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <span>

namespace ampgate::validate {

// Rounds them to `type`, a floating one; sizes, dimensions and flags stay. Gives whether any changed.
bool round_numbers(const c10::FunctionSchema& schema, std::span<c10::IValue> arguments, c10::ScalarType type);

}  // namespace ampgate::validate
