#include "validate/fp64_call.h"

#include <ATen/core/enum_tag.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/empty.h>

#include <limits>

#include "precision/formats.h"
#include "validate/aside.h"
#include "validate/call_tensors.h"
#include "validate/fp64_defaults.h"

namespace ampgate::validate {
namespace {

using torch::jit::Stack;

bool is_random(const CallView& view) {
  if (!view.op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  // Without dropout these are not.
  return view.record.name != "aten::scaled_dot_product_attention" || view.arguments[4].toDouble() != 0.0;
}

}  // namespace

bool fit_defaults(std::string_view name, c10::ScalarType type, Stack& arguments) {
  const auto put = [&](std::size_t position, double number) {
    if (position >= arguments.size() || !arguments[position].isNone()) return false;
    arguments[position] = number;
    return true;
  };
  if (!c10::isFloatingType(type)) return false;
  if (base_name(name) == "nan_to_num") {
    const double max = precision::format_of(type).max;
    const bool above = put(2, max);
    return put(3, -max) || above;
  }
  // In 16 bit the kernel takes FP32's.
  if (name == "aten::rms_norm") {
    return put(3, type == at::kDouble ? std::numeric_limits<double>::epsilon()
                                      : double{std::numeric_limits<float>::epsilon()});
  }
  return false;
}

void ask_for_fp64(const c10::Argument& argument, c10::IValue& value) {
  if (argument.name() != "dtype" || !value.isInt()) return;
  if (c10::isFloatingType(static_cast<c10::ScalarType>(value.toInt())))
    value = static_cast<std::int64_t>(c10::ScalarType::Double);
}

std::vector<at::Tensor> seen_inputs(const CallView& view) {
  std::vector<at::Tensor> tensors;
  for (const auto& argument : view.arguments) {
    for (const at::Tensor& tensor : tensors_in(argument)) {
      at::Tensor value = tensor.detach().cpu();
      if (value.is_floating_point())
        value = value.to(view.record.inputs[tensors.size()].seen).to(at::kDouble);
      tensors.push_back(std::move(value));
    }
  }
  return tensors;
}

Stack fp64_arguments(const CallView& view) {
  const std::vector<at::Tensor> tensors = seen_inputs(view);
  std::size_t next = 0;
  Stack arguments;
  for (std::size_t i = 0; i < view.arguments.size(); ++i) {
    const auto& argument = view.op.schema().arguments()[i];
    c10::IValue value = with_tensors(view.arguments[i], [&](const at::Tensor&) {
      const at::Tensor& tensor = tensors[next++];
      if (argument.is_out()) return at::empty({0}, tensor.options());
      return is_written(argument) ? tensor.clone() : tensor;
    });
    ask_for_fp64(argument, value);
    if (value.isDevice()) value = c10::Device(at::kCPU);
    arguments.push_back(std::move(value));
  }
  if (!view.record.inputs.empty()) fit_defaults(view.record.name, view.record.inputs.front().seen, arguments);
  return arguments;
}

std::pair<at::Tensor, at::Tensor> attention_by_definition(const Stack& arguments) {
  auto [output, probabilities] = at::_scaled_dot_product_attention_math(
      arguments[0].toTensor(), arguments[1].toTensor(), arguments[2].toTensor(),
      arguments[3].toOptional<at::Tensor>(), 0.0, arguments[5].toBool(), std::nullopt,
      arguments[6].toOptional<double>(), arguments[7].toBool());
  return {std::move(output), std::move(probabilities)};
}

std::optional<std::vector<at::Tensor>> evaluate_fp64(const CallView& view) {
  const Aside aside;
  const Fp64Defaults defaults;
  if (view.record.allocation || is_random(view)) return {};
  try {
    const Stack arguments = fp64_arguments(view);
    if (view.record.name == "aten::scaled_dot_product_attention") {
      return std::vector{attention_by_definition(arguments).first};
    }
    Stack stack = arguments;
    view.op.callBoxed(stack);
    std::vector<at::Tensor> outputs = outputs_of(view.op.schema(), arguments, stack);
    if (outputs.size() != view.outputs.size()) return {};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].sizes() != view.outputs[i].sizes()) return {};
      if (outputs[i].is_floating_point()) outputs[i] = outputs[i].to(at::kDouble);
    }
    return outputs;
  } catch (const std::exception&) {
    return {};  // no FP64 kernel, or arguments that fit together only in their own types
  }
}

}  // namespace ampgate::validate
