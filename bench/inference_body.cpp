#include "bench/inference_body.h"

#include <torch/csrc/autograd/function.h>

#include <algorithm>

#include "cases/execute.h"

namespace ampgate::bench {

cases::Outputs InferenceBody::call() { return cases::execute(definition_, state_, precision(), device()); }

void InferenceBody::warm_up() {
  constexpr int kCalls = 2;
  for (int i = 0; i < kCalls; ++i) call();
}

bool InferenceBody::owns(const void* storage) const {
  return std::any_of(state_.tensors.begin(), state_.tensors.end(),
                     [&](const auto& entry) { return entry.tensor.storage().data() == storage; });
}

bool InferenceBody::in_case() const { return torch::autograd::get_current_node() == nullptr; }

Holdings InferenceBody::holdings() const {
  Holdings bytes;
  for (const auto& entry : state_.tensors) {
    (entry.role == cases::Role::kInput ? bytes.inputs : bytes.weights) +=
        static_cast<std::int64_t>(entry.tensor.nbytes());
  }
  return bytes;
}

}  // namespace ampgate::bench
