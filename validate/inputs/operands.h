// Which tensors of a state hold the values that an operator works on, and along which of their dimensions
// values meet in one result: what exact and edge inputs replace. Parameters that have a domain of their own
// (the variance and weights of a normalisation) are left alone.
#pragma once

#include <cstdint>
#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

struct DataOperand {
  std::size_t tensor;
  std::vector<std::int64_t> meets;  // non-negative, ascending; empty where each value stands alone
};

// Empty for models: their inputs mean something.
std::vector<DataOperand> data_operands(const cases::BoundSpec& bound, const cases::State& state);

// Floating tensors that no reduced axis of an inner product names: they are added, not multiplied.
std::vector<std::size_t> added_tensors(const cases::BoundSpec& bound, const cases::State& state);

}  // namespace ampgate::validate
