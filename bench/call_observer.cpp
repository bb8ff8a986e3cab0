#include "bench/call_observer.h"

#include <memory>
#include <stdexcept>

namespace ampgate::bench {
namespace {

thread_local CallObserver* current = nullptr;

// Says that `enter` was called for an operator.
struct Entered : at::ObserverContext {};

}  // namespace

struct Callbacks {
  static std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
    // Autograd's nodes are recorded, too, but are no operators: those that they call are.
    if (current == nullptr || !function.operator_schema()) return nullptr;
    current->enter(function);
    return std::make_unique<Entered>();
  }
  static void on_end(const at::RecordFunction&, at::ObserverContext* context) {
    if (context != nullptr && current != nullptr) current->leave();
  }
};

CallObserver::CallObserver(bool inputs) {
  if (current != nullptr) throw std::logic_error("this thread's operators are observed already");
  current = this;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(Callbacks::on_start, Callbacks::on_end)
                                           .needsInputs(inputs)
                                           .scopes({at::RecordScope::FUNCTION}));
}

CallObserver::~CallObserver() {
  current = nullptr;
  at::removeCallback(handle_);
}

}  // namespace ampgate::bench
