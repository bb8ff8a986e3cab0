// What a trial is judged against: the case in FP64 on the CPU, on the values that the operator really saw.
#pragma once

#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

#include "cases/case.h"
#include "precision/precision.h"

namespace ampgate::validate {

struct RoundedInputs {
  cases::State state;                   // floating tensors in FP64 on the CPU, the others as they are
  c10::ScalarType operand_type;         // the type in which the operator saw its floating tensors
  std::vector<std::string> overflowed;  // tensors in which the cast turned a finite value into an infinity
};

// The inputs and weights as the operator saw them. `prepared` is the trial's own state, on its device: under
// a cast it holds the rounded values. Under autocast the operator rounds its floating tensors to
// `output_type` where that is lower than FP32; an output in FP32 says that it was not lowered. A model's
// tensors are never rounded for autocast: its operators round in many places. `tf32` takes the tensors as
// they are: rounding them waits for a device on which its kind of rounding was probed.
RoundedInputs rounded_inputs(const cases::Case& definition, const cases::State& original,
                             const cases::State& prepared, const precision::Precision& precision,
                             c10::ScalarType output_type);

// Outputs of `reference_run`, else `run`, in FP64 without autograd or autocast. `fp64` is not changed.
// Integer and bool outputs stay what they are; memory that the run never writes is NaN. Throws CaseFault when
// an output is undefined or of another type, or their number is not the case's.
cases::Outputs oracle(const cases::Case& definition, const cases::State& fp64);

// Throws CaseFault when elements of `oracle`, which is that of `fp64`, depend on memory that the case never
// writes: nothing can be judged by them. `part`: of which elements, for the reason.
void check_written(const cases::Case& definition, const cases::State& fp64, const cases::Outputs& oracle,
                   const std::string& part);

// The type of output `output`, or for an integer or bool one that of the first floating output: what the
// operator rounded its inputs to does not show in integers. FP32 when there is none.
c10::ScalarType judged_type(const cases::Outputs& outputs, std::size_t output);

}  // namespace ampgate::validate
