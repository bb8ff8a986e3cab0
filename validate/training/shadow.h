// Shadow steps: one gradient from a state of the FP32 training, in a trial's precision and in FP64. Where
// trajectories differ although nothing is wrong, this tells whether the gradients are right.
#pragma once

#include <string>
#include <vector>

#include "cases/training/trainer.h"
#include "results/json.h"

namespace ampgate::validate {

struct ShadowStep {
  std::int64_t step = 0;
  double norm = 0;    // |g64|, Euclidean over all parameters
  double error = 0;   // |g - g64| / |g64|, Euclidean over all parameters; infinity where g is not finite
  double zeroed = 0;  // share of the elements that are not zero in FP64 and zero in the trial
  std::vector<double> errors;  // by parameter
};

// The unscaled gradients of the effective batch that comes next from `state`, in FP64 on the CPU, one for
// each parameter; undefined where it has none. `trainer` is one of the same training in precision `fp32`.
std::vector<at::Tensor> unscaled_gradients(cases::Trainer& trainer, const cases::Checkpoint& state);

ShadowStep compare_gradients(const std::vector<at::Tensor>& trial, const std::vector<at::Tensor>& fp64,
                             std::int64_t step);

results::Json to_json(const ShadowStep& step, const std::vector<std::string>& parameters);

}  // namespace ampgate::validate
