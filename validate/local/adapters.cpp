#include "precision/formats.h"
#include "validate/call_tensors.h"
#include "validate/local/adapter.h"
#include "validate/numbers.h"

namespace ampgate::validate::local {

LocalCall::LocalCall(const CallView& view_, std::optional<c10::ScalarType> numbers)
    : view(view_), arguments(fp64_arguments(view_)) {
  if (numbers) round_numbers(view.op.schema(), arguments, *numbers);
}

std::optional<double> LocalCall::number(std::size_t i) const {
  if (i >= arguments.size() || !arguments[i].isScalar()) return {};
  const c10::Scalar scalar = arguments[i].toScalar();
  return scalar.isComplex() ? std::optional<double>() : scalar.to<double>();
}

std::optional<std::size_t> LocalCall::find(std::string_view name) const {
  const auto& declared = view.op.schema().arguments();
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].name() == name) return i;
  }
  return {};
}

bool LocalCall::output_is_16_bit() const { return precision::is_16_bit(output_type()); }

LocalProblem LocalCall::of_itself(cases::BoundSpec spec,
                                  const std::vector<std::pair<std::string, std::size_t>>& positions) const {
  LocalProblem problem{std::move(spec), {}, {}, {view.outputs.at(0)}};
  std::vector<std::size_t> used;
  for (const auto& [name, position] : positions) {
    if (!is_tensor(position) || !tensor(position).defined()) continue;
    problem.state.tensors.push_back({name, tensor(position)});
    used.push_back(position);
  }
  problem.evaluate = [this, used](const cases::State& state) -> cases::Outputs {
    torch::jit::Stack stack = arguments;
    for (std::size_t i = 0; i < stack.size(); ++i) {
      // Written arguments are copies of their own: each evaluation starts from the same values.
      if (is_written(view.op.schema().arguments()[i])) {
        stack[i] = with_tensors(stack[i], [](const at::Tensor& t) { return t.clone(); });
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      const at::Tensor& tensor = state[i];
      stack[used[i]] = is_written(view.op.schema().arguments()[used[i]]) ? tensor.clone() : tensor;
    }
    view.op.callBoxed(stack);
    return {stack.front().toTensor()};
  };
  return problem;
}

std::optional<LocalProblem> LocalCall::as_unknown(cases::BoundSpec spec) const {
  if (!evaluate_fp64(view)) return {};
  LocalProblem problem{std::move(spec), {}, {}, {}};
  for (const auto& argument : arguments) {
    for (const at::Tensor& tensor : tensors_in(argument))
      problem.state.tensors.push_back({std::to_string(problem.state.tensors.size()), tensor});
  }
  std::vector<std::size_t> floating;
  for (std::size_t i = 0; i < view.outputs.size(); ++i) {
    if (!view.outputs[i].is_floating_point()) continue;
    floating.push_back(i);
    problem.actual.push_back(view.outputs[i]);
  }
  problem.evaluate = [this, floating](const cases::State& state) {
    const auto& schema = view.op.schema();
    torch::jit::Stack given;
    std::size_t next = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      given.push_back(with_tensors(arguments[i], [&](const at::Tensor&) {
        const at::Tensor& tensor = state[next++];
        return is_written(schema.arguments()[i]) ? tensor.clone() : tensor;
      }));
    }
    torch::jit::Stack stack = given;
    view.op.callBoxed(stack);
    const auto all = outputs_of(schema, given, stack);
    cases::Outputs outputs;
    for (const std::size_t i : floating) outputs.push_back(all.at(i).to(at::kDouble));
    return outputs;
  };
  return problem;
}

Adapter adapter_of(std::string_view operator_name) {
  static const Adapters adapters = [] {
    Adapters all;
    add_products(all);
    add_convolutions(all);
    add_norms(all);
    add_softmax(all);
    add_elementwise(all);
    add_reductions(all);
    add_attention(all);
    add_exact(all);
    add_interpolation(all);
    return all;
  }();
  if (!operator_name.starts_with("aten::")) return nullptr;
  const auto found = adapters.find(base_name(operator_name));
  return found == adapters.end() ? nullptr : found->second;
}

}  // namespace ampgate::validate::local
