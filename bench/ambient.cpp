#include "bench/ambient.h"

#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <array>

namespace ampgate::bench {

std::vector<std::string> ambient_problems(c10::DeviceType device) {
  std::vector<std::string> problems;
  if (at::hasCallbacks())
    problems.emplace_back("an observer or profiler watches the operators of this process");
  if (torch::autograd::AnomalyMode::is_enabled()) problems.emplace_back("anomaly mode is on");
  if (at::autocast::is_autocast_enabled(device)) problems.emplace_back("autocast is on outside of the trial");
  if (c10::GradMode::is_enabled()) problems.emplace_back("grad mode is on");
  if (c10::InferenceMode::is_enabled()) problems.emplace_back("inference mode is on");

  constexpr std::array kModes{c10::DispatchKey::Python,
                              c10::DispatchKey::PythonDispatcher,
                              c10::DispatchKey::Functionalize,
                              c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                              c10::DispatchKey::Tracer,
                              c10::DispatchKey::TESTING_ONLY_GenericWrapper,
                              c10::DispatchKey::TESTING_ONLY_GenericMode};
  for (const auto mode : kModes) {
    if (c10::impl::tls_is_dispatch_key_included(mode)) {
      problems.push_back(std::string("the dispatcher's mode ") + c10::toString(mode) + " is on");
    }
  }
  return problems;
}

}  // namespace ampgate::bench
