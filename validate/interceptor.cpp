#include "validate/interceptor.h"

#include <torch/library.h>

#include <stdexcept>

namespace ampgate::validate {
namespace {

constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

thread_local Interceptor* current = nullptr;

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard exclude(kKey);
  if (current == nullptr) {
    op.callBoxed(*stack);
  } else {
    current->call(op, *stack);
  }
}

}  // namespace

InterceptScope::InterceptScope(Interceptor& interceptor) : include_(kKey) {
  if (current != nullptr) throw std::logic_error("an interceptor is on already");
  current = &interceptor;
}

InterceptScope::~InterceptScope() { current = nullptr; }

}  // namespace ampgate::validate

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&ampgate::validate::fallback>());
}
