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
  static void fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard exclude(key);
    const Swapped<c10::DispatchKeySet, c10::DispatchKeySet&> below(
        below_, keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, key));
    if (Interceptor* const interceptor = current_; interceptor == nullptr) {
      op.callBoxed(*stack);
    } else {
      interceptor->call(op, *stack);
    }
  }

  // Only from within `Interceptor::call`, in place of `op.callBoxed(stack)`: the operators that this one
  // calls in turn go to `parts`.
  static void call_parts(const c10::OperatorHandle& op, torch::jit::Stack& stack, Interceptor& parts) {
    c10::impl::LocalDispatchKeySet inside = c10::impl::tls_local_dispatch_key_set();
    inside.excluded_ = inside.excluded_.remove(key);
    const c10::impl::ForceDispatchKeyGuard within(inside);
    const Swapped<Interceptor*, std::atomic<Interceptor*>&> seen(current_, &parts);
    op.redispatchBoxed(below_, &stack);
  }

 private:
  // Another value while it lives.
  template <typename T, typename Place>
  class Swapped {
   public:
    Swapped(Place place, T value) : place_(place), outer_(place) { place_ = value; }
    ~Swapped() { place_ = outer_; }
    Swapped(const Swapped&) = delete;
    Swapped& operator=(const Swapped&) = delete;

   private:
    Place place_;
    T outer_;
  };

  inline static std::atomic<Interceptor*> current_ = nullptr;
  // The keys of the operator that is called on this thread, under this one.
  inline static thread_local c10::DispatchKeySet below_{};
  c10::impl::IncludeDispatchKeyGuard include_;
};

using InterceptScope = HookScope<c10::DispatchKey::TESTING_ONLY_GenericMode>;

}  // namespace ampgate::validate
