// What an operator's schema and name say about memory.
#pragma once

#include <ATen/core/function_schema.h>

#include <cstddef>
#include <string_view>

namespace ampgate::cases {

bool is_written(const c10::Argument& argument);

// A result that is an argument's memory, not written to.
bool is_view(const c10::Argument& result);

// Results that may share memory with an argument that is not written: views, but also `to` and `reshape`.
bool returns_alias(const c10::FunctionSchema& schema);

// Memory that was allocated and not filled.
bool is_allocation(std::string_view name);

// Of this argument (by number) the operator takes sizes, type or device, and no values.
bool takes_no_values(std::string_view name, std::size_t argument);

// It reads or writes files, runs other code, or changes what later calls draw: no operator of a case.
bool reaches_beyond(std::string_view name);

}  // namespace ampgate::cases
