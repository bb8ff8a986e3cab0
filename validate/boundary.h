// Inputs near the decision boundary of a model that gives scores: found by bisection between pairs of inputs
// that the FP64 model decides differently.
#pragma once

#include <cstdint>
#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

// The case's state with a batch of inputs whose FP64 margin (largest score less the second) is below `margin`
// in `rows_below` rows; the others stayed above it.
struct BoundaryRung {
  double margin;
  std::int64_t rows_below = 0;
  cases::State state;  // FP32, as set up
};

// One rung for each of 1e-1, 1e-2, 1e-3, 1e-4. Row i is paired with the next row of another decision; all
// floating inputs of the batch move together along the line. Only the first 128 rows take part, and the
// states have no more. Empty when all rows have one decision.
std::vector<BoundaryRung> boundary_inputs(const cases::Case& definition, const cases::State& original,
                                          const cases::Decisions& decisions);

}  // namespace ampgate::validate
