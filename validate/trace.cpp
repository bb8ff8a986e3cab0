#include "validate/trace.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cmath>

#include "precision/region.h"
#include "validate/aside.h"
#include "validate/call_tensors.h"

namespace ampgate::validate {
namespace {

using torch::jit::Stack;

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

bool finite_number(const c10::IValue& value) {
  if (value.isDouble()) return std::isfinite(value.toDouble());
  if (!value.isDoubleList()) return true;
  const auto list = value.toDoubleVector();
  return std::all_of(list.begin(), list.end(), [](double number) { return std::isfinite(number); });
}

bool shares_memory(const at::Tensor& tensor, const std::vector<at::Tensor>& others) {
  return std::any_of(others.begin(), others.end(), [&](const at::Tensor& other) {
    return storage_of(tensor) != nullptr && storage_of(tensor) == storage_of(other);
  });
}

// Arguments that the call will write to, copied with everything that shares their memory.
Stack kept_arguments(const c10::FunctionSchema& schema, const Stack& arguments) {
  std::vector<at::Tensor> written;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_written(schema.arguments()[i])) continue;
    const auto tensors = tensors_in(arguments[i]);
    written.insert(written.end(), tensors.begin(), tensors.end());
  }
  if (written.empty()) return arguments;
  const Aside aside;
  Stack kept;
  for (const auto& argument : arguments) {
    kept.push_back(with_tensors(argument, [&](const at::Tensor& tensor) {
      return shares_memory(tensor, written) ? tensor.detach().clone() : tensor;
    }));
  }
  return kept;
}

std::vector<at::Tensor> all_tensors(const Stack& arguments) {
  std::vector<at::Tensor> tensors;
  for (const auto& argument : arguments) {
    const auto some = tensors_in(argument);
    tensors.insert(tensors.end(), some.begin(), some.end());
  }
  return tensors;
}

bool writes_parameter(const c10::FunctionSchema& schema, const Stack& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_written(schema.arguments()[i])) continue;
    for (const at::Tensor& tensor : tensors_in(arguments[i])) {
      if (tensor.is_leaf() && tensor.requires_grad()) return true;
    }
  }
  return false;
}

template <typename Test>
bool any_read(const std::vector<TracedTensor>& tensors, Test&& test) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const TracedTensor& tensor) { return !tensor.ignored && test(tensor.values); });
}

bool not_finite(const FiniteScan& scan) { return !scan.finite(); }
bool has_nan(const FiniteScan& scan) { return scan.nans > 0; }

}  // namespace

bool TracedCall::finite_inputs() const { return finite_scalars && !any_read(inputs, not_finite); }
bool TracedCall::nan_in_inputs() const { return any_read(inputs, has_nan); }
bool TracedCall::finite_outputs() const { return !any_read(outputs, not_finite); }
bool TracedCall::nan_in_outputs() const { return any_read(outputs, has_nan); }

std::string TracedCall::place() const {
  return "operator " + std::to_string(index) + ", " + name +
         (region.empty() ? "" : " in region '" + region + "'");
}

Tracer::Tracer(std::function<void(const CallView&)> observer, Interceptor* inner)
    : observer_(std::move(observer)), inner_(inner) {}

TracedTensor Tracer::traced(std::string name, const at::Tensor& tensor, c10::ScalarType seen) const {
  TracedTensor result{
      std::move(name), tensor.scalar_type(), seen, tensor.sizes().vec(), scan_finite(tensor), {}, {}, {}};
  const auto memory = memory_.find(storage_of(tensor));
  if (memory != memory_.end()) {
    result.bad_writers = memory->second.bad_writers;
    result.last_writer = memory->second.last_writer;
    result.source = memory->second.source;
  }
  return result;
}

void Tracer::name_tensor(const at::Tensor& tensor, std::string name) {
  memory_[storage_of(tensor)].source = std::move(name);
}

void Tracer::trace_inputs(const c10::FunctionSchema& schema, const Stack& arguments, TracedCall& call) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = schema.arguments()[i];
    call.finite_scalars = call.finite_scalars && finite_number(arguments[i]);
    const auto tensors = tensors_in(arguments[i]);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      const std::string place = arguments[i].isList() ? "[" + std::to_string(k) + "]" : "";
      call.inputs.push_back(traced(argument.name() + place, tensors[k], tensors[k].scalar_type()));
      call.inputs.back().ignored =
          argument.is_out() || (i == 0 && overwrites(call.name)) || takes_no_values(call.name, i);
    }
  }
}

void Tracer::remember_writes(const TracedCall& call, const std::vector<at::Tensor>& inputs,
                             const std::vector<at::Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto* storage = storage_of(outputs[i]);
    if (storage == nullptr) continue;
    const bool fresh = !shares_memory(outputs[i], inputs);
    if (!fresh && call.view) continue;
    Memory& memory = memory_[storage];
    const bool whole = outputs[i].nbytes() == storage->nbytes();
    if (fresh || whole) memory.bad_writers.clear();
    if (fresh) memory.source.clear();
    memory.last_writer = call.index;
    // What fresh memory holds says nothing about what it will hold when it is read unfilled.
    if (call.allocation || !call.outputs[i].values.finite()) memory.bad_writers.push_back(call.index);
  }
}

std::vector<std::size_t> Tracer::bad_writers(const at::Tensor& tensor) const {
  const auto memory = memory_.find(storage_of(tensor));
  return memory == memory_.end() ? std::vector<std::size_t>{} : memory->second.bad_writers;
}

void Tracer::call(const c10::OperatorHandle& op, Stack& stack) {
  const auto& schema = op.schema();
  const auto first = static_cast<std::ptrdiff_t>(stack.size() - schema.arguments().size());
  const Stack given(stack.begin() + first, stack.end());
  TracedCall call;
  call.index = calls_.size();
  call.name = schema.name();
  call.region = precision::region_path();
  call.allocation = is_allocation(call.name);
  if (const auto node = torch::autograd::get_current_node()) {
    call.stage = Stage::kBackward;
    after_backward_ = true;
    const auto after = nodes_.upper_bound(node->sequence_nr());
    if (after != nodes_.begin() && node->sequence_nr() < std::prev(after)->second.first) {
      call.forward = std::prev(after)->second.second;
      call.region = calls_[*call.forward].region;
    }
  } else if (writes_parameter(schema, given) || (after_backward_ && !at::GradMode::is_enabled())) {
    call.stage = Stage::kUpdate;
  }
  trace_inputs(schema, given, call);
  const Stack kept = kept_arguments(schema, given);
  const std::vector<at::Tensor> inputs = all_tensors(given);

  const std::uint64_t first_node = at::sequence_number::peek();
  inner_types_.begin(call.name);
  if (inner_ != nullptr) {
    inner_->call(op, stack);
  } else {
    op.callBoxed(stack);
  }
  const auto seen = inner_types_.end(inputs);
  const std::uint64_t end_node = at::sequence_number::peek();
  if (end_node > first_node) nodes_[first_node] = {end_node, call.index};

  for (std::size_t i = 0; i < seen.size(); ++i) call.inputs[i].seen = seen[i];
  const Stack results(stack.begin() + first, stack.end());
  const std::vector<at::Tensor> outputs = outputs_of(schema, given, results);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    call.outputs.push_back(traced(outputs.size() == 1 ? "out" : "out[" + std::to_string(i) + "]", outputs[i],
                                  outputs[i].scalar_type()));
  }
  // `to` and `reshape` may copy.
  call.view = returns_alias(schema) && std::all_of(outputs.begin(), outputs.end(), [&](const auto& output) {
                return shares_memory(output, inputs);
              });
  remember_writes(call, inputs, outputs);
  calls_.push_back(std::move(call));
  if (observer_) observer_({calls_.back(), op, kept, outputs});
}

}  // namespace ampgate::validate
