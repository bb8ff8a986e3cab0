#include "validate/selftest/faulty_case.h"

#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>

#include <stdexcept>
#include <utility>

#include "cases/execute.h"
#include "validate/selftest/expectations.h"

namespace ampgate::validate::selftest {
namespace {

thread_local const cases::Case* current_case = nullptr;
thread_local ActiveFault* current_fault = nullptr;

// One tensor of its own as result, and a floating tensor among the arguments.
bool may_be_faulty(const c10::OperatorHandle& op, const Arguments& arguments) {
  const auto& returns = op.schema().returns();
  if (returns.size() != 1 || returns[0].alias_info() != nullptr) return false;
  if (returns[0].type()->kind() != c10::TypeKind::TensorType) return false;
  for (const auto& value : arguments) {
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point()) return true;
  }
  return false;
}

Arguments take_arguments(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto begin = stack.end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  Arguments arguments(begin, stack.end());
  stack.erase(begin, stack.end());
  return arguments;
}

bool is_judged_type(c10::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

// Calls the right operator, and `seen` for each call that faults fit.
class Looker : public Interceptor {
 public:
  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    Arguments arguments = take_arguments(op, stack);
    const bool fits = may_be_faulty(op, arguments);
    stack.insert(stack.end(), arguments.begin(), arguments.end());
    op.callBoxed(stack);
    if (!fits || !is_judged_type(stack.back().toTensor().scalar_type())) return;
    const Call call(op, std::move(arguments), 0, 0);
    found.push_back({call.name(), stack.back().toTensor().scalar_type()});
  }
  std::vector<Target> found;
};

// Nobody sees the operators that run while it lives.
class Unseen {
  c10::impl::ExcludeDispatchKeyGuard intercepted_{c10::DispatchKey::TESTING_ONLY_GenericMode};
  at::DisableRecordFunctionGuard recorded_;
};

cases::State copy_of(const cases::State& state) {
  const Unseen unseen;
  cases::State copy = state;
  for (auto& entry : copy.tensors) entry.tensor = entry.tensor.clone();
  return copy;
}

const at::Tensor* first_floating(const cases::State& state) {
  for (const auto& entry : state.tensors) {
    if (entry.tensor.is_floating_point()) return &entry.tensor;
  }
  return nullptr;
}

// Is this a run of that precision? The state and autocast say so.
bool is_run_of(const precision::Precision& precision, const cases::State& state) {
  const at::Tensor* tensor = first_floating(state);
  if (tensor == nullptr) return false;
  const auto device = tensor->device().type();
  const bool autocast = at::autocast::is_autocast_enabled(device);
  switch (precision.mode) {
    case precision::Mode::kNative:
      return tensor->scalar_type() == at::kFloat && !autocast;
    case precision::Mode::kCast:
      return tensor->scalar_type() == precision.type && !autocast;
    case precision::Mode::kAutocast:
      return tensor->scalar_type() == at::kFloat && autocast &&
             at::autocast::get_autocast_dtype(device) == precision.type;
  }
  return false;
}

}  // namespace

// One run of the case with the fault in it.
class FaultyRun : public Interceptor {
 public:
  explicit FaultyRun(ActiveFault& active) : active_(active), run_(active.trace_.runs++) {}

  void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) override {
    Arguments arguments = take_arguments(op, stack);
    const bool fits = may_be_faulty(op, arguments);
    Call call(op, arguments, run_, active_.seed_);
    if (!fits || !names(active_.operators_, call.name())) {
      stack.insert(stack.end(), arguments.begin(), arguments.end());
      op.callBoxed(stack);
      return;
    }
    stack.emplace_back(result_of(call));
  }

 private:
  at::Tensor result_of(Call& call) {
    const at::Tensor right = call.right();
    if (!is_judged_type(right.scalar_type()) || right.numel() == 0) return right;
    const std::int64_t number = next_++;
    if (active_.only_ >= 0 && number != active_.only_) return right;
    try {
      const Unseen unseen;
      const at::Tensor faulty = active_.fault_.kernel(call);
      if (!faulty.defined()) return right;
      active_.trace_.put_in = true;
      return faulty;
    } catch (const std::exception& error) {
      active_.trace_.broken = call.name() + ": " + error.what();
      return right;
    }
  }

  ActiveFault& active_;
  std::int64_t run_;
  std::int64_t next_ = 0;

 public:
  static cases::Outputs run(cases::State& state) {
    if (current_fault == nullptr || !is_run_of(current_fault->precision_, state))
      return current_case->run(state);
    ActiveFault& active = *current_fault;
    cases::State untouched = copy_of(state);
    cases::Outputs outputs;
    {
      FaultyRun faulty(active);
      const FaultScope scope(faulty);
      outputs = current_case->run(state);
    }
    // Afterwards, so that the faulty run gets the allocator's blocks as they were left for it.
    const Unseen unseen;
    const cases::Outputs right = current_case->run(untouched);
    active.trace_.effect = active.trace_.effect || !identical(outputs, right);
    active.trace_.peers.add(rejected_by(outputs, right, active.length_));
    return outputs;
  }
};

ActiveFault::ActiveFault(const Fault& fault, std::string_view operators, std::int64_t only,
                         const precision::Precision& precision, std::int64_t length, std::uint64_t seed)
    : fault_(fault), operators_(operators), only_(only), precision_(precision), length_(length), seed_(seed) {
  if (current_fault != nullptr) throw std::logic_error("a fault is active already");
  current_fault = this;
}

ActiveFault::~ActiveFault() { current_fault = nullptr; }

cases::Case faulty_copy(const cases::Case& original) {
  current_case = &original;
  cases::Case copy = original;
  if (copy.reference_run == nullptr) copy.reference_run = original.run;
  copy.run = FaultyRun::run;
  return copy;
}

std::vector<Target> targets(const cases::Case& original, cases::State prepared,
                            const precision::Precision& precision, c10::DeviceType device) {
  Looker looker;
  const FaultScope scope(looker);
  cases::execute(original, prepared, precision, device);
  return std::move(looker.found);
}

}  // namespace ampgate::validate::selftest
