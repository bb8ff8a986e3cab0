#include "validate/call_tensors.h"

#include <algorithm>
#include <array>

namespace ampgate::validate {

bool is_floating(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point();
}

std::vector<at::Tensor> tensors_in(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.defined()) tensors.push_back(tensor);
  };
  if (value.isTensor()) {
    add(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      if (element.isTensor()) add(element.toTensor());
    }
  }
  return tensors;
}

c10::IValue with_tensors(const c10::IValue& value,
                         const std::function<at::Tensor(const at::Tensor&)>& replacement) {
  const auto replaced = [&](const at::Tensor& tensor) {
    return tensor.defined() ? replacement(tensor) : tensor;
  };
  if (value.isTensor()) return replaced(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(replaced(tensor));
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(replaced(*tensor)) : tensor);
    }
    return list;
  }
  return value;
}

std::vector<at::Tensor> outputs_of(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                                   const torch::jit::Stack& results) {
  std::vector<at::Tensor> outputs;
  const auto add_new = [&](const c10::IValue& value) {
    for (const at::Tensor& tensor : tensors_in(value)) {
      const auto same = [&](const at::Tensor& other) { return other.is_same(tensor); };
      if (std::none_of(outputs.begin(), outputs.end(), same)) outputs.push_back(tensor);
    }
  };
  for (const auto& result : results) add_new(result);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_written(schema.arguments()[i])) add_new(arguments[i]);
  }
  return outputs;
}

std::string_view base_name(std::string_view name) {
  if (const auto colons = name.find("::"); colons != std::string_view::npos) name.remove_prefix(colons + 2);
  if (name.ends_with('_') && !name.ends_with("__")) name.remove_suffix(1);
  return name;
}

bool overwrites(std::string_view name) {
  constexpr std::array<std::string_view, 11> kNames{
      "aten::copy_",      "aten::fill_",       "aten::zero_",      "aten::normal_",
      "aten::uniform_",   "aten::random_",     "aten::bernoulli_", "aten::exponential_",
      "aten::geometric_", "aten::log_normal_", "aten::cauchy_"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace ampgate::validate
