// Inputs near the decision boundary of a model that gives scores: found by bisection between pairs of inputs
// that the FP64 model decides differently.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

// The case's state with a batch of inputs; those of the samples that are `below` have an FP64 margin below
// `margin` (of the sample's closest decision, where it has several), the others are as they were.
struct BoundaryRung {
  double margin;
  std::vector<bool> below;  // by sample
  std::int64_t count = 0;   // of samples below
  cases::State state;       // FP32, as set up
};

struct Boundary {
  std::vector<BoundaryRung> rungs;
  std::string why_none;  // why there is no rung, in words
};

// One rung for each of 1e-1, 1e-2 ... 1e-6. Sample i is paired with the next sample of another decision; all
// floating inputs that have one entry a sample (their first dimension) move together along the line between
// the two, the others stay. `samples` is the first dimension of the scores. Only the first 128 samples take
// part, and the states have no more, unless the case is run with its whole batch alone (`whole_batch`). None
// when all samples have one decision, or nothing can be moved.
Boundary boundary_inputs(const cases::Case& definition, const cases::State& original,
                         const cases::Decisions& decisions, std::int64_t samples, bool whole_batch = false);

}  // namespace ampgate::validate
