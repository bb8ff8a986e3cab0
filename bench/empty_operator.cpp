#include "bench/empty_operator.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

namespace ampgate::bench {
namespace {

at::Tensor nothing(const at::Tensor& x) {
  static const auto handle = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("ampgate::nothing", "")
                                 .typed<at::Tensor(const at::Tensor&)>();
  return handle.call(x);
}

at::Tensor kernel(const at::Tensor& x) { return x; }

// What autocast's own wrappers do, but for the casts.
at::Tensor below_autocast(const at::Tensor& x) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return nothing(x);
}

template <int operators>
cases::Outputs run(cases::State& state) {
  at::Tensor x = nothing(state[0]);
  for (int i = 1; i < operators; ++i) x = nothing(x);
  return {std::move(x)};
}

cases::Case empty(cases::Outputs (*body)(cases::State&)) {
  return {.name = "empty",
          .dims = {},
          .suites = {},
          .outputs = {"x"},
          .setup = nullptr,
          .run = body,
          .facts = [](const cases::Shape&) -> cases::Facts { return {}; }};
}

}  // namespace

TORCH_LIBRARY(ampgate, library) { library.def("nothing(Tensor(a) x) -> Tensor(a)"); }
TORCH_LIBRARY_IMPL(ampgate, CPU, library) { library.impl("nothing", kernel); }
TORCH_LIBRARY_IMPL(ampgate, CUDA, library) { library.impl("nothing", kernel); }
TORCH_LIBRARY_IMPL(ampgate, AutocastCPU, library) { library.impl("nothing", below_autocast); }
TORCH_LIBRARY_IMPL(ampgate, AutocastCUDA, library) { library.impl("nothing", below_autocast); }

const cases::Case& empty_case() {
  static const cases::Case definition = empty(run<1>);
  return definition;
}

const cases::Case& many_empty_case() {
  static const cases::Case definition = empty(run<kManyOperators>);
  return definition;
}

}  // namespace ampgate::bench
