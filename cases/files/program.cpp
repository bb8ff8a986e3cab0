#include "cases/files/program.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "cases/files/library.h"
#include "cases/schemas.h"
#include "precision/region.h"

namespace ampgate::cases::files {
namespace {

using torch::jit::Stack;

// Every tensor in 16 bit raised to FP32. Operators that write to their arguments are no islands.
void raise(Stack& arguments) {
  using precision::detail::to_float;
  for (auto& argument : arguments) {
    if (argument.isTensor() && argument.toTensor().defined()) {
      argument = to_float(argument.toTensor());
    } else if (argument.isTensorList()) {
      c10::List<at::Tensor> raised;
      for (const at::Tensor& tensor : argument.toTensorList()) raised.push_back(to_float(tensor));
      argument = std::move(raised);
    }
  }
}

void call(const Step& step, const State& state, Results& results, Stack& stack) {
  stack.clear();
  step.call.push_arguments(state, results, stack);
  if (step.region.empty()) {
    step.call.op().callBoxed(stack);
  } else {
    const precision::detail::RegionScope region(step.region);
    if (precision::detail::in_island()) {
      const precision::NoAutocast off;
      raise(stack);
      step.call.op().callBoxed(stack);
    } else {
      step.call.op().callBoxed(stack);
    }
  }
  for (std::size_t i = 0; i < stack.size(); ++i) results[step.first_result + i] = std::move(stack[i]);
}

void add(const c10::IValue& value, Outputs& outputs) {
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorList()) outputs.push_back(tensor);
  } else {
    outputs.push_back(value.toTensor());
  }
}

// The floating type that an argument asks for by name.
std::optional<c10::ScalarType> asked_for(const ArgumentSource& source) {
  if (source.kind != ArgumentSource::Kind::kType || !source.constant.isInt()) return {};
  const auto type = static_cast<c10::ScalarType>(source.constant.toInt());
  return c10::isFloatingType(type) ? std::optional(type) : std::nullopt;
}

void ask_for_fp64(ArgumentSource& source) {
  if (asked_for(source)) source.constant = static_cast<std::int64_t>(c10::ScalarType::Double);
}

// Its arguments, but for the mask of a dropout that there is not.
OperatorCall attention_by_definition(const std::vector<ArgumentSource>& arguments) {
  auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_scaled_dot_product_attention_math", "");
  std::vector<ArgumentSource> moved(arguments.begin(), arguments.begin() + 6);
  moved.emplace_back();
  moved.insert(moved.end(), arguments.begin() + 6, arguments.end());
  return {op, std::move(moved)};
}

}  // namespace

std::vector<c10::ScalarType> Program::low_types_asked_for() const {
  std::vector<c10::ScalarType> types;
  for (const Step& step : steps) {
    for (const ArgumentSource& source : step.call.arguments()) {
      if (const auto type = asked_for(source); type && c10::isReducedFloatingType(*type))
        types.push_back(*type);
    }
  }
  return types;
}

bool Program::is_foreign() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& step) { return files::is_foreign(step.call.op()); });
}

std::optional<Program::Refusal> Program::refusal(const State& state) const {
  const at::NoGradGuard no_grad;
  Results values(results);
  Stack stack;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    try {
      call(steps[i], state, values, stack);
    } catch (const c10::NotImplementedError&) {
      return {};
    } catch (const c10::OutOfMemoryError&) {
      return {};
    } catch (const c10::Error& error) {
      return Refusal{i, error.what_without_backtrace()};
    }
  }
  return {};
}

std::optional<Program::Refusal> Program::write_to(const State& state) const {
  const at::NoGradGuard no_grad;
  Results values(results);
  Stack stack;
  try {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& declared = steps[i].call.op().schema().arguments();
      Stack arguments;
      steps[i].call.push_arguments(state, values, arguments);
      for (std::size_t argument = 0; argument < arguments.size(); ++argument) {
        if (!is_written(declared[argument]) || !arguments[argument].isTensor()) continue;
        for (const auto& entry : state.tensors) {
          if (arguments[argument].toTensor().is_alias_of(entry.tensor)) return Refusal{i, entry.name};
        }
      }
      call(steps[i], state, values, stack);
    }
  } catch (const c10::Error&) {
    // Whoever runs it is told.
  }
  return {};
}

Outputs Program::forward(const State& state) const {
  Results values(results);
  Stack stack;
  for (const Step& step : steps) call(step, state, values, stack);
  Outputs given;
  for (const auto& source : outputs) add(value_of(source, state, values), given);
  return given;
}

Outputs Program::run(State& state) const {
  if (!backward()) return forward(state);
  const at::AutoGradMode with_gradients(true);
  std::vector<at::Tensor> inputs;
  for (const std::size_t number : differentiated) {
    inputs.push_back(state.tensors[number].tensor.set_requires_grad(true));
  }
  Outputs given = forward(state);
  std::vector<at::Tensor> roots, roots_gradients;
  std::size_t next = first_cotangent;
  for (const at::Tensor& output : given) {
    if (!output.is_floating_point()) continue;
    const std::size_t cotangent = next++;
    if (!output.requires_grad()) continue;
    roots.push_back(output);
    roots_gradients.push_back(state[cotangent]);
  }
  if (roots.empty()) {
    C10_THROW_ERROR(NotImplementedError, "no output has a gradient: the operator has no derivative here");
  }
  {
    const precision::NoAutocast off;  // as in training: backward runs in the types that forward chose
    auto gradients = torch::autograd::grad(roots, inputs, roots_gradients, /*retain_graph=*/std::nullopt,
                                           /*create_graph=*/false, /*allow_unused=*/true);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) {
        C10_THROW_ERROR(NotImplementedError, "the operators give no gradient by '" +
                                                 state.tensors[differentiated[i]].name +
                                                 "': let the tensors that have one say \"requires_grad\"");
      }
      given.push_back(std::move(gradients[i]));
    }
  }
  for (auto& output : given) output = output.detach();
  return given;
}

Program Program::in_fp64() const {
  Program other = *this;
  other.steps.clear();
  other.results = 0;
  std::vector<std::size_t> moved(results);  // numbers of results there
  const auto renumber = [&](ArgumentSource& source, auto&& self) -> void {
    using Kind = ArgumentSource::Kind;
    if (source.kind == Kind::kResult || source.kind == Kind::kItem) source.number = moved[source.number];
    ask_for_fp64(source);
    for (auto& item : source.items) self(item, self);
  };
  for (const Step& step : steps) {
    auto arguments = step.call.arguments();
    for (auto& argument : arguments) renumber(argument, renumber);
    const auto& op = step.call.op();
    const std::size_t count = op.schema().returns().size();
    const bool attention = op.operator_name().name == "aten::scaled_dot_product_attention";
    OperatorCall call = attention ? attention_by_definition(arguments) : OperatorCall(op, arguments);
    for (std::size_t i = 0; i < count; ++i) moved[step.first_result + i] = other.results + i;
    const std::size_t returned = call.op().schema().returns().size();
    other.steps.push_back({std::move(call), other.results, step.region});
    other.results += returned;
  }
  for (auto& output : other.outputs) renumber(output, renumber);
  return other;
}

}  // namespace ampgate::cases::files
