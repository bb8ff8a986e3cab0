#include "bench/ambient.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/profiler/api.h>

#include <array>

namespace ampgate::bench {
namespace {

// Keys that only tools use: LibTorch registers nothing for them.
constexpr std::array kToolKeys{c10::DispatchKey::TESTING_ONLY_GenericMode,
                               c10::DispatchKey::TESTING_ONLY_GenericWrapper};

bool profiler_is_on() {
  using torch::profiler::impl::ProfilerStateBase;
  return ProfilerStateBase::get(/*global=*/false) != nullptr ||
         ProfilerStateBase::get(/*global=*/true) != nullptr;
}

void name_keys(c10::DispatchKeySet keys, const char* verb, std::vector<std::string>& text) {
  for (const auto key : keys) text.push_back(std::string(verb) + " " + c10::toString(key));
}

}  // namespace

std::vector<std::string> strange_keys() {
  const auto now = c10::impl::tls_local_dispatch_key_set();
  // Autocast works by excluding its keys; it has flags of its own that say the same.
  const c10::DispatchKeySet excluded = now.excluded_ - c10::autocast_dispatch_keyset;
  const c10::DispatchKeySet own = c10::default_excluded_set - c10::autocast_dispatch_keyset;
  std::vector<std::string> text;
  name_keys(now.included_ - c10::default_included_set, "includes", text);
  name_keys(excluded - own, "excludes", text);
  name_keys(c10::default_included_set - now.included_, "does not include", text);
  name_keys(own - excluded, "does not exclude", text);
  return text;
}

std::vector<std::string> ambient_problems(c10::DeviceType device) {
  std::vector<std::string> problems;
  if (profiler_is_on()) problems.emplace_back("a profiler is on");
  if (at::hasGlobalCallbacks()) problems.emplace_back("an observer watches the operators of this process");
  if (at::hasThreadLocalCallbacks())
    problems.emplace_back("an observer watches the operators of this thread");
  if (torch::autograd::AnomalyMode::is_enabled()) problems.emplace_back("anomaly mode is on");
  if (at::autocast::is_autocast_enabled(device)) problems.emplace_back("autocast is on outside of the trial");
  if (c10::GradMode::is_enabled()) problems.emplace_back("grad mode is on");
  if (c10::InferenceMode::is_enabled()) problems.emplace_back("inference mode is on");
  if (c10::impl::TorchDispatchModeTLS::any_modes_set()) problems.emplace_back("a dispatch mode is on");
  for (const auto& key : strange_keys()) problems.push_back("this thread's dispatcher " + key);
  for (const auto key : kToolKeys) {
    if (c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(key))
      problems.push_back(std::string("an interceptor is registered for the dispatch key ") +
                         c10::toString(key));
  }
  return problems;
}

}  // namespace ampgate::bench
