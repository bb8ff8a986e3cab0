// What a shape asks for, known before anything is allocated: the case is set up and run on tensors that have
// sizes and types alone.
#pragma once

#include <string>

#include "cases/case.h"
#include "precision/precision.h"

namespace ampgate::cases {

// Bytes are those of the precision's storage type. Autocast may store outputs smaller than is said here.
struct Needs {
  double flops = 0.0;         // as the case declares them; 0: it does not say
  double tensor_bytes = 0.0;  // inputs and weights
  double output_bytes = 0.0;  // of one run
  double moved_bytes = 0.0;   // what one run must read and write at least (least_bytes)
  std::string no_outputs{};   // why `output_bytes` and `moved_bytes` are not known; empty: they are
};

// Throws what the case's set-up throws for sizes that it cannot have.
Needs needs(const Case& definition, const Shape& shape, const precision::Precision& precision);

}  // namespace ampgate::cases
