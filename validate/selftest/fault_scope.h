// Puts a faulty operator under a run: sees every operator that this thread calls, below phase 1's
// interceptor and above autograd and autocast, so that whoever looks on sees the faulty results as the
// operator's own.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace ampgate::validate::selftest {

class Injector {
 public:
  virtual ~Injector() = default;
  // As Interceptor::call: arguments on the stack become results. Operators called inside are not seen.
  virtual void call(const c10::OperatorHandle& op, torch::jit::Stack& stack) = 0;
};

// On for this thread while it lives. Scopes do not nest.
class FaultScope {
 public:
  explicit FaultScope(Injector& injector);
  ~FaultScope();
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard include_;
};

}  // namespace ampgate::validate::selftest
