// What has happened so far in one training step, and what may come next. PyTorch raises no error for most of
// what is out of order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cases/training/misuse.h"
#include "cases/training/optimizer.h"
#include "cases/training/training.h"

namespace ampgate::cases {

// "optimizer 1"
std::string optimizer_words(std::size_t optimizer);

// Each check throws Misuse, before the part of the step that it belongs to; each note comes after that part.
class StepOrder {
 public:
  StepOrder(const Training& training, bool scaler) : training_(training), scaler_(scaler) {}

  // A new step, with the optimizers as they stand.
  void begin(const std::vector<std::unique_ptr<Optimizer>>& optimizers);
  // At the end of it.
  void check_end(const std::vector<std::unique_ptr<Optimizer>>& optimizers);
  // After all steps: throws for an optimizer that no step used.
  void check_all_stepped() const;
  // After all steps: schedules that no step advanced although their optimizer stepped, in words.
  std::vector<std::string> unused_schedules() const;

  // Gradients are none: what they were made of counts no more.
  void note_zero_grad();
  void check_forward(int micro_batch) const;
  void note_forward(const at::Tensor& loss, int micro_batch);
  void check_backward(const at::Tensor& loss);
  void note_backward() { ++backwards_; }
  bool complete() const { return backwards_ == training_.micro_batches; }

  void check_unscale(std::size_t optimizer) const;
  void note_unscale(std::size_t optimizer) { unscaled_[optimizer] = true; }
  bool unscaled(std::size_t optimizer) const { return unscaled_[optimizer]; }

  void check_clip(std::size_t optimizer) const;
  void note_clip() { ever_clipped_ = true; }
  bool ever_clipped() const { return ever_clipped_; }
  void check_step(std::size_t optimizer) const;
  void note_step_called(std::size_t optimizer);
  void note_step(std::size_t optimizer, bool stepped);

  void check_update() const;
  void note_update() { updated_ = true; }

  void check_schedule(std::size_t schedule) const;  // of this number
  void note_schedule(std::size_t schedule) { advanced_[schedule] = ever_advanced_[schedule] = true; }

  const std::vector<bool>& stepped() const { return stepped_; }
  const std::vector<bool>& step_called() const { return step_called_; }
  // Every optimizer whose step was called made its update.
  bool applied() const { return stepped_ == step_called_; }

 private:
  void check_complete(const char* used) const;  // throws unless all micro-batches have had their backward

  void check_number(std::size_t optimizer) const;
  // A rate that a loop sets by hand stands for the schedules of its optimizer.
  void note_rate(std::size_t optimizer, double rate);

  const Training& training_;
  const bool scaler_;
  // In this step, by optimizer:
  std::vector<bool> stepped_, step_called_, unscaled_;
  std::vector<std::int64_t> updates_before_;
  std::vector<double> rates_before_;
  std::vector<bool> advanced_;                       // by schedule
  std::vector<std::pair<const void*, int>> losses_;  // the node of each loss, and its micro-batch
  std::vector<bool> had_backward_;                   // by micro-batch
  int backwards_ = 0;
  bool updated_ = false;
  // In any step:
  std::vector<bool> ever_called_, ever_stepped_, ever_advanced_;
  bool ever_clipped_ = false;
};

}  // namespace ampgate::cases
