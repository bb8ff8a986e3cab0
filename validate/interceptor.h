// Sees every operator that this thread calls, above autograd and autocast, and may change arguments and
// results. Calls that an operator's own kernel makes are not seen. Off, it costs nothing.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>
#include <stdexcept>

namespace ampgate::validate {

class Interceptor {
 public:
  virtual ~Interceptor() = default;
  // The arguments are the last ones on the stack; the results must take their place, as `op.callBoxed(stack)`
  // does. Operators that this function calls are not intercepted.
  virtual void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) = 0;
};

// Switches an interceptor on for this thread, at one dispatch key, and for those that autograd works on for
// it (backward of a GPU has one of its own, and takes the dispatch keys over). Scopes of a key do not nest,
// and one thread has them: throws std::logic_error.
template <c10::DispatchKey key>
class HookScope {
 public:
  explicit HookScope(Interceptor& interceptor) : include_(key) {
    if (current_ != nullptr) throw std::logic_error("an interceptor is on already");
    current_ = &interceptor;
  }
  ~HookScope() { current_ = nullptr; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

  // What the dispatcher calls: to be registered once for each key.
  static void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard exclude(key);
    if (Interceptor* const interceptor = current_; interceptor == nullptr) {
      op.callBoxed(*stack);
    } else {
      interceptor->call(op, *stack);
    }
  }

 private:
  inline static std::atomic<Interceptor*> current_ = nullptr;
  c10::impl::IncludeDispatchKeyGuard include_;
};

using InterceptScope = HookScope<c10::DispatchKey::TESTING_ONLY_GenericMode>;

}  // namespace ampgate::validate
