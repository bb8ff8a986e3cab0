#include "validate/local/call_bound.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>

#include "cases/execute.h"
#include "cases/fills.h"
#include "validate/aside.h"
#include "validate/bounds/families.h"
#include "validate/call_tensors.h"
#include "validate/failure.h"
#include "validate/finite.h"
#include "validate/fp64_defaults.h"
#include "validate/local/adapter.h"
#include "validate/local/readings.h"
#include "validate/roundings.h"

namespace ampgate::validate::local {
namespace {

using cases::Family;

TracedTensor traced(c10::ScalarType type, c10::ScalarType seen, at::IntArrayRef sizes) {
  TracedTensor tensor;
  tensor.type = type;
  tensor.seen = seen;
  tensor.sizes = sizes.vec();
  return tensor;
}

// A call as the tracer would show it, for adapters.
class Shown {
 public:
  // `state`: FP64, values that `operand` holds. Of `outputs` only sizes count, and which are floating: these
  // have that type.
  Shown(const cases::OperatorCall& call, const cases::State& state, c10::ScalarType operand,
        const cases::Outputs& outputs, c10::ScalarType floating)
      : view_{record_, call.op(), arguments_, outputs_} {
    call.push_arguments(state, {}, arguments_);
    record_.name = call.op().schema().name();
    for (const auto& argument : arguments_) {
      for (const at::Tensor& tensor : tensors_in(argument)) {
        const auto seen = tensor.is_floating_point() ? operand : tensor.scalar_type();
        record_.inputs.push_back(traced(tensor.scalar_type(), seen, tensor.sizes()));
      }
    }
    for (const at::Tensor& output : outputs) {
      const auto type = output.is_floating_point() ? floating : output.scalar_type();
      outputs_.push_back(at::zeros({}, type).expand(output.sizes()));
      record_.outputs.push_back(traced(type, type, output.sizes()));
    }
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

  const CallView& view() const { return view_; }

 private:
  torch::jit::Stack arguments_;
  std::vector<at::Tensor> outputs_;
  TracedCall record_;
  CallView view_;
};

// The problem lives as long as the call that it came from.
struct Known {
  // `view` must outlive the object.
  explicit Known(const CallView& view) : call(view) {
    const Adapter adapter = adapter_of(view.record.name);
    if (adapter == nullptr) return;
    // A form of the operator that the adapter does not know.
    if (catch_failure([&] { problem = adapter(call); })) problem.reset();
    // It must know all that is judged by it.
    const auto floating = std::count_if(view.outputs.begin(), view.outputs.end(),
                                        [](const at::Tensor& output) { return output.is_floating_point(); });
    if (problem && std::ssize(problem->actual) != floating) problem.reset();
  }
  LocalCall call;
  std::optional<LocalProblem> problem;
};

Bound by_family(const LocalProblem& problem, const BoundContext& context, std::size_t number) {
  cases::Outputs oracle = problem.evaluate(problem.state);
  for (auto& output : oracle) output = output.contiguous();
  const BoundContext own{context.name, problem.evaluate,     problem.spec,        problem.state,
                         oracle,       context.operand_type, context.output_type, context.rules};
  return error_bound(own, number);
}

bool same(const cases::BoundSpec& a, const cases::BoundSpec& b) {
  const auto equal = [](const cases::Axis& x, const cases::Axis& y) {
    return x.tensor == y.tensor && x.dim == y.dim;
  };
  return a.family == b.family && a.length == b.length && a.dims == b.dims && a.groups == b.groups &&
         a.eps == b.eps && a.fp16_partials == b.fp16_partials &&
         std::equal(a.reduced.begin(), a.reduced.end(), b.reduced.begin(), b.reduced.end(), equal);
}

// Which of the state's tensors each operand is, if it is that tensor as it stands or its elements in a row.
std::optional<std::vector<std::size_t>> operands_in_state(const Known& known, const cases::OperatorCall& call,
                                                          bool& flat) {
  std::vector<std::size_t> numbers;
  for (const auto& operand : known.problem->state.tensors) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < call.arguments().size(); ++i) {
      if (call.arguments()[i].kind != cases::ArgumentSource::Kind::kTensor || !known.call.is_tensor(i))
        continue;
      const at::Tensor& argument = known.call.tensor(i);
      const bool shared =
          argument.numel() > 0 && argument.const_data_ptr() == operand.tensor.const_data_ptr();
      if (!shared || argument.numel() != operand.tensor.numel()) continue;
      flat = flat || argument.sizes() != operand.tensor.sizes();
      found = call.arguments()[i].number;
    }
    if (!found || std::find(numbers.begin(), numbers.end(), *found) != numbers.end()) return {};
    numbers.push_back(*found);
  }
  return numbers;
}

bool all_finite(const at::Tensor& tensor) { return scan_finite(tensor).finite(); }

// Whatever reduction length the case gives: of sums alone, and its parts round besides.
bool is_judged_by_parts(const cases::Case& definition, const cases::State& state,
                        const cases::Outputs& outputs) {
  return made_of_parts(definition.call->op()) &&
         std::all_of(state.tensors.begin(), state.tensors.end(),
                     [](const cases::NamedTensor& entry) { return all_finite(entry.tensor); }) &&
         std::all_of(outputs.begin(), outputs.end(), all_finite);
}

}  // namespace

Bound call_bound(const cases::OperatorCall& call, const BoundContext& context, std::size_t output) {
  const at::NoGradGuard no_grad;
  const at::Tensor& y = context.oracle[output];
  const auto number = static_cast<std::size_t>(
      std::count_if(context.oracle.begin(), context.oracle.begin() + static_cast<std::ptrdiff_t>(output),
                    [](const at::Tensor& before) { return before.is_floating_point(); }));
  const Shown shown(call, context.inputs, context.operand_type, context.oracle, context.output_type);
  const Known known(shown.view());
  if (!known.problem) {
    if (context.spec.length > 0) return bounds::conditioned(context, output);
    Bound bound = bounds::error_ratio(context, output);
    if (is_libtorchs(call.op())) bounds::allow_16_bit_steps(context, output, bound);
    return bound;
  }
  Bound bound = by_family(*known.problem, context, number);
  bound.error = bound.error.view(y.sizes());
  if (bound.hard.defined()) bound.hard = bound.hard.view(y.sizes());
  return bound;
}

cases::Case with_family(cases::Case definition, const cases::Shape& shape) {
  if (!definition.call || definition.expected) return definition;
  const at::NoGradGuard no_grad;
  const Aside aside;
  static_cast<void>(catch_failure([&] {
    const cases::Fill fill(0, definition.name, shape.name);
    const cases::State state = cases::converted(definition.setup(shape, fill), at::kDouble);
    cases::State own = state;
    const Fp64Defaults defaults;
    const cases::Outputs outputs = definition.reference_run(own);
    if (is_judged_by_parts(definition, state, outputs)) {
      cases::Facts facts = definition.facts(shape);
      facts.bound.family = Family::kModel;
      definition.facts = [facts](const cases::Shape&) { return facts; };
      definition.model = true;
      return;
    }
    if (outputs.size() != 1 || !outputs[0].is_floating_point()) return;
    const auto shown = [&](c10::ScalarType type) {
      return std::make_unique<Shown>(*definition.call, state, type, outputs, type);
    };
    const auto wide = shown(at::kFloat);
    const auto low = shown(at::kBFloat16);
    const Known known(wide->view());
    const Known in_16_bit(low->view());
    // What depends on the type must be asked again for each trial.
    for (const auto type : {at::kHalf, at::kBFloat16}) {
      if (!other_readings(*definition.call, type).empty()) return;
    }
    if (!known.problem || !in_16_bit.problem || !same(known.problem->spec, in_16_bit.problem->spec)) return;
    bool flat = false;
    const auto numbers = operands_in_state(known, *definition.call, flat);
    if (!numbers || (flat && !cases::is_unary(known.problem->spec.family))) return;

    cases::Facts facts = definition.facts(shape);
    facts.bound = known.problem->spec;
    for (auto& axis : facts.bound.reduced) axis.tensor = numbers->at(axis.tensor);
    if (flat || cases::is_unary(facts.bound.family)) {
      if (outputs[0].dim() > 0) facts.independent = {{0, {{numbers->front(), 0}}}};
    } else if (auto axis = known.problem->independent) {
      for (auto& operand : axis->operands) operand.tensor = numbers->at(operand.tensor);
      facts.independent = {*axis};
    }
    std::map<std::size_t, std::string> names;
    for (std::size_t i = 0; i < numbers->size(); ++i)
      names[numbers->at(i)] = known.problem->state.tensors[i].name;
    definition.facts = [facts](const cases::Shape&) { return facts; };
    definition.setup = [setup = definition.setup, names](const cases::Shape& s, const cases::Fill& f) {
      cases::State made = setup(s, f);
      // What the family does not know must not be taken for one of its operands.
      for (std::size_t i = 0; i < made.tensors.size(); ++i) {
        const auto name = names.find(i);
        made.tensors[i].operand = name == names.end() ? "(" + made.tensors[i].name + ")" : name->second;
      }
      return made;
    };
  }));
  return definition;
}

}  // namespace ampgate::validate::local
