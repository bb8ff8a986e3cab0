#include "validate/selftest/fault_scope.h"

#include <torch/library.h>

#include <stdexcept>

namespace ampgate::validate::selftest {
namespace {

// The next key below that of the interceptor.
constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

thread_local Injector* current = nullptr;

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard exclude(kKey);
  if (current == nullptr) {
    op.callBoxed(*stack);
  } else {
    current->call(op, *stack);
  }
}

}  // namespace

FaultScope::FaultScope(Injector& injector) : include_(kKey) {
  if (current != nullptr) throw std::logic_error("a fault is on already");
  current = &injector;
}

FaultScope::~FaultScope() { current = nullptr; }

}  // namespace ampgate::validate::selftest

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericWrapper, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&ampgate::validate::selftest::fallback>());
}
