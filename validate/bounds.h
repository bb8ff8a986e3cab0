// How far a correct operator may be from its FP64 oracle before its result is rounded to the output's type:
// E, element by element. One file a family in bounds/.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <functional>
#include <string>

#include "cases/bound_spec.h"
#include "cases/case.h"
#include "results/rules.h"

namespace ampgate::validate {

// What is judged: a case, or one operator call of a model.
struct BoundContext {
  std::string name;  // for errors: "case matmul", "operator aten::mm"
  // The outputs in FP64 for other FP64 tensors than `inputs`, of the same names and number. Not by the code
  // that is judged: a faulty one must not shape its own bound.
  std::function<cases::Outputs(const cases::State&)> evaluate;
  const cases::BoundSpec& spec;
  const cases::State& inputs;    // FP64, as the operator saw them (oracle.h)
  const cases::Outputs& oracle;  // FP64
  c10::ScalarType operand_type;  // type in which the operator saw its floating tensors
  c10::ScalarType output_type;   // type of the output that is judged
  const results::Rules& rules;
};

struct Bound {
  // E, FP64, contiguous, sizes of the oracle's output.
  at::Tensor error;
  // An error between E and this one can be explained (`hard_source`): `suspect`. Undefined where E is the
  // last word.
  at::Tensor hard;
  std::string criterion;      // for records: "inner-product bound"
  std::string source;         // the formula in words
  std::string hard_source{};  // "another order of summation"
  std::string finding{};      // what the bound allows that a user should know; mostly empty
  // Not 0: the RMS error of the whole output has a limit as well, and what is accepted is `suspect`.
  double rms_limit = 0.0;
  // The same up to which `hard_source` can explain it; 0: there is none.
  double rms_hard = 0.0;
  // Where the result jumps as its inputs move by a rounding (a remainder, a floor): as far as it does, else
  // 0. Either side may be right there. Undefined: it jumps nowhere.
  at::Tensor jumps{};
  bool exact_zeros = false;  // -0 and +0 are different results (operators that only move values)
};

// False for models: they are judged by replay. Unknown families have the error ratio, calls
// local::call_bound.
bool has_bound(cases::Family family);

// E of output number `output`. Throws std::invalid_argument for a family without a bound, and
// std::logic_error when `inputs` lacks a tensor that its family needs, or the spec names axes that do not
// fit.
Bound error_bound(const BoundContext& context, std::size_t output);

}  // namespace ampgate::validate
