// A training that is looked at between the parts of every step: losses, gradients before and after they are
// unscaled, the scale, what was updated. It explains; the plain run decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cases/training/trainer.h"
#include "results/json.h"

namespace ampgate::validate {

// Of one parameter's gradient after it was unscaled.
struct GradientStats {
  double norm = 0;     // Euclidean, in FP64
  double largest = 0;  // of the finite ones
  double zeros = 0;    // share
  std::int64_t nonfinite = 0;
};

struct StepReport {
  double loss = 0;                                      // mean over the micro-batches, unscaled
  std::int64_t scaled_nonfinite = 0;                    // gradients, before they are unscaled
  std::int64_t nonfinite = 0;                           // gradients, after
  std::vector<std::optional<GradientStats>> gradients;  // by parameter; none where nothing unscaled it
  double scale = 1;                                     // with which the step was made
  std::int64_t growth_tracker = 0;                      // after the step
  std::vector<bool> called, stepped;   // by optimizer: its step was called, and updated its weights
  std::vector<double> rates;           // learning rates that they stepped with; 0 where not called
  std::vector<double> learning_rates;  // by optimizer, after the step
  bool weights_finite = true;
  // By optimizer: its update was applied with a learning rate, and none of its weights changed; it was
  // skipped, and some did.
  std::vector<bool> unchanged, changed_in_skip;
  std::vector<bool> zero_gradients;  // by optimizer: all that it stepped with
  std::vector<bool> at_rest;         // by optimizer: unchanged, since its learning rate is 0
  std::string weights;               // digest of all weights after the step

  // Did every optimizer that was called make its update?
  bool applied() const { return called == stepped; }
};

struct WatchedRun {
  std::int64_t first_step = 0;          // of the training
  std::vector<std::string> parameters;  // in the order of the optimizers
  std::vector<bool> trained;            // by parameter: some step changed it
  std::vector<StepReport> steps;
  // The state before the step that a failure goes back to, and its place among `steps`: the first whose loss
  // or weights were not finite, else the first of the longest run of steps with such gradients. A scaler
  // skips single ones while it looks for its scale.
  std::optional<cases::Checkpoint> before_bad;
  std::optional<std::size_t> bad_step;
  // The state before the first step whose update changed nothing, where no optimizer skipped and none that is
  // unchanged had a learning rate of 0.
  std::optional<cases::Checkpoint> before_unchanged;
  std::vector<cases::Checkpoint> shadows;  // states at the steps asked for
};

// The values that a gradient holds: a sparse one's as they lie.
at::Tensor values_of(const at::Tensor& gradient);

// All weights together.
std::string weights_digest(const cases::Trainer& trainer);

// `shadow_at`: ascending step numbers before which the state is kept.
WatchedRun watch(cases::Trainer& trainer, int steps, const std::vector<int>& shadow_at);

// {"loss": [...], "scale": [...], ..., "gradients": {parameter: [[norm, largest, share of zeros], ...]}}
results::Json to_json(const WatchedRun& run);

}  // namespace ampgate::validate
