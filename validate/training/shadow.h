// Shadow steps: one gradient from a state of the FP32 training, in a trial's precision and in FP64. Where
// trajectories differ although nothing is wrong, this tells whether the gradients are right.
#pragma once

#include <string>
#include <vector>

#include "cases/training/trainer.h"
#include "results/json.h"
#include "validate/training/training_setup.h"
#include "validate/training/underflow.h"

namespace ampgate::validate {

struct ShadowStep {
  std::int64_t step = 0;
  double norm = 0;      // |g64|, Euclidean over all parameters
  double own_norm = 0;  // |g|
  double error = 0;     // |g - g64| / |g64|, Euclidean over all parameters; infinity where g is not finite
  std::vector<double> errors, norms;  // the same by parameter
  ZeroShares zeros;
};

// The unscaled gradients of the effective batch that comes next from `state`, in FP64 on the CPU, one for
// each parameter; undefined where it has none. A scaler is the trainer's own, whatever the state says.
std::vector<at::Tensor> unscaled_gradients(cases::Trainer& trainer, const cases::Checkpoint& state);

// Errors alone.
ShadowStep compare_gradients(const std::vector<at::Tensor>& trial, const std::vector<at::Tensor>& fp64,
                             std::int64_t step);

// The gradient of `way` from `state`, with this scale if it has a scaler, against `fp64`.
ShadowStep shadow_step(const TrainingSetup& setup, const Way& way, const cases::Checkpoint& state,
                       const std::vector<at::Tensor>& fp64, double scale);

results::Json to_json(const ShadowStep& step, const std::vector<std::string>& parameters);

}  // namespace ampgate::validate
