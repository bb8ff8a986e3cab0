// The one error of the gradient scaler.
#pragma once

#include <stdexcept>

namespace ampgate::precision {

// Misuse, in PyTorch's own words wherever it has some.
class GradScalerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ampgate::precision
