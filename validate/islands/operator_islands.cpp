#include "validate/islands/operator_islands.h"

#include <ATen/autocast_mode.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "precision/region.h"

namespace ampgate::validate {
namespace {

bool is_16_bit(c10::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

bool writes(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// Gives memory of its argument without writing it: `view`, `to` of the same type, autocast's own casts.
bool moves_no_value(const c10::FunctionSchema& schema) {
  const auto& returns = schema.returns();
  return std::string_view(schema.name()).starts_with("aten::_autocast_to") ||
         std::any_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
           return result.alias_info() != nullptr && !result.alias_info()->isWrite();
         });
}

at::Tensor raised(const at::Tensor& tensor) {
  return tensor.defined() && is_16_bit(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}

c10::IValue raised_list(const c10::IValue& value) {
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorList()) list.push_back(raised(tensor));
    return list;
  }
  c10::List<std::optional<at::Tensor>> list;
  for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorList()) {
    list.push_back(tensor ? std::optional(raised(*tensor)) : std::nullopt);
  }
  return list;
}

// An argument that the operator writes, and the FP32 copy that it writes instead.
struct Written {
  at::Tensor original;
  at::Tensor copy;
};

void raise(const c10::Argument& argument, c10::IValue& value, std::vector<Written>& written) {
  if (value.isTensor()) {
    const at::Tensor original = value.toTensor();
    if (!original.defined() || !is_16_bit(original.scalar_type())) return;
    const at::Tensor copy = original.to(at::kFloat);
    if (writes(argument)) written.push_back({original, copy});
    value = copy;
  } else if (value.isTensorList() && writes(argument)) {  // _foreach_ operators
    c10::List<at::Tensor> list;
    for (const at::Tensor& original : value.toTensorList()) {
      list.push_back(raised(original));
      if (is_16_bit(original.scalar_type())) written.push_back({original, list.get(list.size() - 1)});
    }
    value = std::move(list);
  } else if (value.isTensorList() || value.isOptionalTensorList()) {
    value = raised_list(value);
  } else if (argument.name() == "dtype" && value.isInt() &&
             is_16_bit(static_cast<c10::ScalarType>(value.toInt()))) {
    value = static_cast<std::int64_t>(c10::ScalarType::Float);
  }
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
