// The types of arguments, taken apart.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

namespace ampgate::cases::files {

// Of an optional or a list.
inline const c10::Type& element_of(const c10::Type& type) {
  return type.kind() == c10::TypeKind::OptionalType ? *type.expectRef<c10::OptionalType>().getElementType()
                                                    : *type.expectRef<c10::ListType>().getElementType();
}

// `int[2]` takes one number for both.
inline bool repeats_number(const c10::Argument& argument) {
  const c10::Type& type = *argument.type();
  const bool optional = type.kind() == c10::TypeKind::OptionalType;
  return argument.N().has_value() && (optional ? element_of(type) : type).kind() == c10::TypeKind::ListType;
}

}  // namespace ampgate::cases::files
