// One trial as far as its answers are concerned.
#pragma once

#include <vector>

#include "cases/case.h"
#include "precision/precision.h"
#include "validate/prediction.h"

namespace ampgate::validate {

// For the FP32 baseline itself `baseline` holds the oracle's outputs.
struct Answers {
  const precision::Precision& precision;
  const cases::Outputs& trial;
  const cases::Outputs& baseline;
  const Prediction& prediction;
  const std::vector<RecordedCall>& calls;

  bool of_baseline() const { return precision.name == precision::baseline().name; }
};

// Output number `output` of each run.
std::vector<at::Tensor> output_of(const std::vector<cases::Outputs>& runs, std::size_t output);

}  // namespace ampgate::validate
