// Sees every operator that this thread calls, above autograd and autocast, and may change arguments and
// results. Calls that an operator's own kernel makes are not seen. Off, it costs nothing.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ampgate::validate {

class Interceptor {
 public:
  virtual ~Interceptor() = default;
  // The arguments are the last ones on the stack; the results must take their place, as `op.callBoxed(stack)`
  // does. Operators that this function calls are not intercepted.
  virtual void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) = 0;
};

// Switches an interceptor on for this thread. Scopes do not nest: throws std::logic_error.
class InterceptScope {
 public:
  explicit InterceptScope(Interceptor& interceptor);
  ~InterceptScope();
  InterceptScope(const InterceptScope&) = delete;
  InterceptScope& operator=(const InterceptScope&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard include_;
};

}  // namespace ampgate::validate
