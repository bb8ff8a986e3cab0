// What makes a case a training step: its loss, its optimizers, and the order of things in one update. Plain
// data; trainer.h carries it out in both phases.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace ampgate::cases {

struct State;
class Trainer;

enum class OptimizerKind { kSgd, kAdamW };

// Defaults are PyTorch's, but for the learning rate, which has none.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  double learning_rate = 0;
  double momentum = 0;      // SGD
  double beta1 = 0.9;       // AdamW
  double beta2 = 0.999;     // AdamW
  double eps = 1e-8;        // AdamW
  double weight_decay = 0;  // SGD: added to the gradient; AdamW: decoupled
  // The weights whose names begin so; empty: all.
  std::vector<std::string> parameters{};
};

// The learning rate is multiplied by `gamma` after every `period` updates that its optimizer really made.
struct ScheduleSpec {
  std::size_t optimizer = 0;
  int period = 1;
  double gamma = 1;
};

struct Training {
  // The loss, a scalar, of the rows that stand in the state.
  at::Tensor (*loss)(State&) = nullptr;
  std::vector<OptimizerSpec> optimizers{};
  // Tensors of the state that are cut into batches by rows, and those that take their place when the trained
  // model is tried: {"images", "held_out_images"}. Both have a row for each sample.
  std::vector<std::pair<std::string, std::string>> rows{};
  std::string batch_dim = "batch";  // the dimension of the shape that counts the rows of a micro-batch
  int micro_batches = 1;            // whose gradients add up to one effective batch
  double clip_norm = 0;             // of all gradients together; 0: they are not clipped
  std::vector<ScheduleSpec> schedules{};
  // One update in another order than standard_step(); tests misuse the scaler with it.
  void (*step)(Trainer&) = nullptr;
};

}  // namespace ampgate::cases
