// The optimizers of training cases: plain loops over parameters that compute what torch.optim's
// single-tensor implementations of PyTorch 2.11 do, operation by operation (foreach=False, fused=False).
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cases/training/training.h"
#include "precision/optimizer.h"

namespace ampgate::cases {

struct Parameter {
  std::string name;
  at::Tensor tensor;  // requires grad
};

// What torch.optim refuses, in its words, and more: settings that are not finite, no parameter. Empty:
// nothing.
std::string fault_of(const OptimizerSpec& spec, std::size_t parameters);

class Optimizer : public precision::Optimizer {
 public:
  // Throws std::invalid_argument for what fault_of() finds.
  Optimizer(const OptimizerSpec& spec, const std::vector<Parameter>& parameters);

  const std::vector<at::Tensor>& parameters() const override { return parameters_; }
  const std::string& name(std::size_t parameter) const { return names_[parameter]; }

  // Parameters without a gradient are passed over. AdamW throws Misuse for sparse gradients, as PyTorch's
  // does.
  void step() override;
  void zero_grad();

  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate) { learning_rate_ = rate; }
  std::int64_t updates() const { return updates_; }
  std::int64_t moment_bytes() const;

  // All that step() goes on from.
  struct State {
    std::int64_t updates = 0;
    double learning_rate = 0;
    std::vector<std::int64_t> steps;            // by parameter: the updates in which it had a gradient
    std::map<std::string, at::Tensor> tensors;  // copies: "<parameter>.first" (SGD's momentum), ".second"
  };
  State state() const;
  // Throws std::invalid_argument, with nothing changed, unless it is one of such an optimizer: tensors for
  // all parameters that were stepped and no others, of their sizes and (`same_types`) their types.
  void check(const State& state, bool same_types) const;
  // A state that was checked.
  void set_state(const State& state);

 private:
  struct Moments {
    at::Tensor first, second;  // SGD: the momentum alone
    std::int64_t steps = 0;    // in which the parameter had a gradient
  };
  bool has_first() const { return spec_.kind == OptimizerKind::kAdamW || spec_.momentum != 0; }
  bool has_second() const { return spec_.kind == OptimizerKind::kAdamW; }
  void step_sgd(const at::Tensor& parameter, at::Tensor gradient, Moments& moments) const;
  void step_adamw(const at::Tensor& parameter, const at::Tensor& gradient, Moments& moments) const;

  OptimizerSpec spec_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  std::vector<Moments> moments_;
  double learning_rate_;
  std::int64_t updates_ = 0;
};

}  // namespace ampgate::cases
