#include "validate/islands/operator_islands.h"

#include <string_view>
#include <vector>

#include "precision/formats.h"
#include "precision/region.h"
#include "validate/call_tensors.h"

namespace ampgate::validate {
namespace {

// Gives memory of its argument without writing it: `view`, `to` of the same type, autocast's own casts.
bool moves_no_value(const c10::FunctionSchema& schema) {
  return std::string_view(schema.name()).starts_with("aten::_autocast_to") || returns_alias(schema);
}

// An argument that the operator writes, and the FP32 copy that it writes instead.
struct Written {
  at::Tensor original;
  at::Tensor copy;
};

void raise(const c10::Argument& argument, c10::IValue& value, std::vector<Written>& written) {
  if (argument.name() == "dtype" && value.isInt() &&
      precision::is_16_bit(static_cast<c10::ScalarType>(value.toInt()))) {
    value = static_cast<std::int64_t>(c10::ScalarType::Float);
    return;
  }
  value = with_tensors(value, [&](const at::Tensor& original) {
    if (!precision::is_16_bit(original.scalar_type())) return original;
    const at::Tensor copy = original.to(at::kFloat);
    if (is_written(argument)) written.push_back({original, copy});
    return copy;
  });
}

void write_back(const std::vector<Written>& written, torch::jit::Stack& stack, std::size_t results) {
  for (const auto& [original, copy] : written) {
    if (original.sizes() != copy.sizes()) original.resize_(copy.sizes());  // out= arguments
    original.copy_(copy);
    for (std::size_t i = stack.size() - results; i < stack.size(); ++i) {
      if (stack[i].isTensor() && stack[i].toTensor().is_same(copy)) stack[i] = original;
    }
  }
}

}  // namespace

void OperatorIslands::call(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  if (!chosen_.contains(next_++) || moves_no_value(op.schema())) {
    inner_.call(op, stack);
  } else {
    call_raised(op, stack);
  }
}

void OperatorIslands::call_raised(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack.size() - arguments.size();
  std::vector<Written> written;
  for (std::size_t i = 0; i < arguments.size(); ++i) raise(arguments[i], stack[first + i], written);
  {
    const precision::NoAutocast off;
    inner_.call(op, stack);
  }
  write_back(written, stack, op.schema().returns().size());
}

}  // namespace ampgate::validate
