// What the gradient scaler sees of an optimizer. torch::optim is not asked for: its headers are heavy, and
// any class that holds parameters and can step will do.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace ampgate::precision {

// Its address is its identity, so it must not move or be replaced between two updates of the scaler.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Each with its gradient in grad(); an undefined gradient is passed over.
  virtual const std::vector<at::Tensor>& parameters() const = 0;

  // One update of the parameters from the gradients as they are.
  virtual void step() = 0;
};

}  // namespace ampgate::precision
