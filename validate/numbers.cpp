#include "validate/numbers.h"

#include <ATen/core/jit_type.h>

#include <vector>

#include "precision/formats.h"

namespace ampgate::validate {
namespace {

double rounded(double number, c10::ScalarType type) {
  return precision::round_to(number, precision::format_of(type));
}

// `Scalar` or `Scalar?`, whose whole numbers meet floating tensors; of an `int` they are sizes.
bool takes_scalar(const c10::Argument& argument) {
  c10::TypePtr type = argument.real_type();
  if (type->kind() == c10::TypeKind::OptionalType)
    type = type->expectRef<c10::OptionalType>().getElementType();
  return type->kind() == c10::TypeKind::NumberType;
}

bool round_one(const c10::Argument& declared, c10::IValue& value, c10::ScalarType type) {
  if (value.isDouble()) {
    const double before = value.toDouble();
    const double after = rounded(before, type);
    if (after == before || before != before) return false;
    value = after;
    return true;
  }
  if (value.isInt() && takes_scalar(declared)) {
    const double after = rounded(static_cast<double>(value.toInt()), type);
    if (after == static_cast<double>(value.toInt())) return false;
    value = after;
    return true;
  }
  if (!value.isDoubleList()) return false;
  std::vector<double> numbers = value.toDoubleVector();
  bool changed = false;
  for (double& number : numbers) {
    const double after = rounded(number, type);
    changed = changed || (after != number && number == number);
    number = after;
  }
  if (changed) value = numbers;
  return changed;
}

}  // namespace

bool round_numbers(const c10::FunctionSchema& schema, std::span<c10::IValue> arguments,
                   c10::ScalarType type) {
  bool changed = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    // An eps is no operand: kernels take it in FP32.
    if (schema.arguments()[i].name() == "eps") continue;
    changed = round_one(schema.arguments()[i], arguments[i], type) || changed;
  }
  return changed;
}

}  // namespace ampgate::validate
