// One step of a training, always from the same few states.
#pragma once

#include <memory>

#include "bench/body.h"
#include "cases/training/trainer.h"

namespace ampgate::bench {

// The steps that are timed: those that phase 1 left the weights of. Numbers of steps begun.
struct StepWindow {
  std::int64_t first = 0;  // steps of the training before it: the scaler has settled
  std::int64_t steps = 0;  // at least 2: a lead-in and a timed one
};

class TrainingBody final : public Body {
 public:
  TrainingBody(std::unique_ptr<cases::Trainer> trainer, const precision::Precision& precision,
               c10::DeviceType device, StepWindow window);

  cases::Outputs call() override;
  // Trains from the beginning to the first step of the window; before the first prepare() alone.
  void warm_up() override;
  // Puts weights, moments, scaler, learning rates and the number of the step back to where the window begins,
  // and has the batches ready. Warms up where nothing has.
  void prepare(std::int64_t calls) override;
  std::int64_t most_calls() const override;
  std::optional<std::int64_t> updates() const override;

  // Gradients.
  cases::Outputs left_by_call(const cases::Outputs& outputs) const override;
  void release() override;
  bool owns(const void* storage) const override;
  // Inputs: the rows of one effective batch.
  Holdings holdings() const override;

  bool in_case() const override { return trainer_->in_forward(); }
  bool with_gradients() const override { return true; }
  std::int64_t found_inf_reads() const override;

  cases::Trainer& trainer() { return *trainer_; }
  const cases::Trainer& trainer() const { return *trainer_; }
  const StepWindow& window() const { return window_; }
  // Steps since the window began.
  std::int64_t position() const { return trainer_->iteration() - window_.first; }

 private:
  std::unique_ptr<cases::Trainer> trainer_;
  StepWindow window_;
  cases::Checkpoint start_;  // what restoring leads to: the beginning, then the window's first step
  bool in_window_ = false;   // the latter
};

}  // namespace ampgate::bench
