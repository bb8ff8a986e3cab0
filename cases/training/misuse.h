// What PyTorch raises no error for, found by its harness, and what it does raise one for.
#pragma once

#include <stdexcept>

namespace ampgate::cases {

// The training step is put together wrongly.
class Misuse : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace ampgate::cases
