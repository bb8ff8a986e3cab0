// How large the rounding errors of a whole model should be: the model in FP64, with the rounding of each
// operator of the trial put in at random. It predicts the root-mean-square error of a correct run; operators
// are not checked one by one.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "cases/case.h"
#include "validate/call_recorder.h"

namespace ampgate::validate {

// The operators that the case calls in FP64 say too little about those of the trial.
class NoPrediction : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ReplayPlan {
  const std::vector<RecordedCall>& calls;
  // Set where the trial's tensors were rounded before the run and `fp64` holds the unrounded ones.
  std::optional<c10::ScalarType> stored{};
  int runs = 12;
  std::uint64_t seed = 1;
  double amplified = 1.0;  // all roundings are this many times as large
};

struct Replay {
  std::vector<cases::Outputs> runs;  // FP64
  // An output each: RMS over the runs of (run - what the same code gives without rounding), element by
  // element; of integers, of whether they differ. Not of (run - oracle): code that is wrong in FP64, too,
  // would be allowed its own error.
  std::vector<at::Tensor> deviation;
  std::vector<double> rms;  // the same over all elements
  // Of integer and bool outputs, where the runs of a further, amplified replay differ from the oracle: what
  // rounding can change. Undefined for floating outputs, and where no such replay was made.
  std::vector<at::Tensor> varies{};
};

// After each operator its floating results are multiplied by 1 + 0.85 u U(-1, 1), u the unit roundoff of the
// recorded type: the 0.85 was fitted on correct kernels. A case may call other operators in FP64 than in the
// trial: what only FP64 calls is exact. Throws NoPrediction when less than half of what computes has a
// partner in the other run, and when random rounding changes which operators are called.
Replay replay(const cases::Case& definition, const cases::State& fp64, const cases::Outputs& oracle,
              const ReplayPlan& plan);

// Where the runs differ from the oracle: bool, an output each; undefined for floating outputs.
std::vector<at::Tensor> varying_integers(const Replay& replay, const cases::Outputs& oracle);

}  // namespace ampgate::validate
