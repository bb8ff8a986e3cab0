// Looking at a run without changing it.
#pragma once

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "precision/region.h"

namespace ampgate::validate {

// What is called while it lives belongs to the observer, not to the run: no autograd, no autocast, no
// recording of operators, no interceptor, and no fault that a self-test put under the run.
class Aside {
 public:
  Aside() = default;
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  const at::NoGradGuard no_grad_;
  const precision::NoAutocast no_autocast_;
  const at::RecordFunctionGuard no_recording_{false};
  const c10::impl::ExcludeDispatchKeyGuard no_hooks_{c10::DispatchKeySet(
      {c10::DispatchKey::TESTING_ONLY_GenericMode, c10::DispatchKey::TESTING_ONLY_GenericWrapper})};
};

}  // namespace ampgate::validate
