// An output against its oracle, position by position, in one pass: accepted iff RN(y - E) <= out <= RN(y +
// E), where RN rounds to the output's type, y is the oracle and E the bound. That settles overflow,
// subnormals and ties alike.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "results/rules.h"
#include "validate/bounds.h"

namespace ampgate::validate {

// Signed errors are out - y. Errors, ULP and mean are taken where out and the rounded oracle are both finite.
struct Comparison {
  std::string problem;  // not comparable (sizes, type): nothing else is set
  std::int64_t elements = 0;
  std::int64_t judged = 0;        // decided by a mask or by the bound; the others are ill-conditioned
  std::int64_t rejected = 0;      // outside every bound, masks included
  std::int64_t between = 0;       // outside E, within the hard bound
  std::int64_t nan_mismatch = 0;  // NaN here or there
  std::int64_t inf_mismatch = 0;  // an infinity here or there that E does not explain
  // E is above the set share of the output's own scale: neither pass nor failure.
  std::int64_t ill_conditioned = 0;
  double max_abs_error = 0.0;
  std::vector<std::int64_t> largest_at{};  // where; empty where nothing finite differs
  // At the worst margin. The margin is (error - rounding) / E, 1 is the limit: the part of E that is needed
  // for RN(y ± margin E) to reach out. 0 when out is RN(y); infinite when E is 0 and it is not, and where a
  // mask differs.
  double margin = 0.0;
  std::vector<std::int64_t> position{};
  double expected = 0.0;  // y
  double actual = 0.0;
  double bound = 0.0;        // E
  std::int64_t max_ulp = 0;  // from RN(y)
  double mean_signed_error = 0.0;
  double rms_error = 0.0;
  double rms_reference = 0.0;
  std::string digest{};  // of the output that was compared, as backends/digest.h gives it

  // All elements that could be judged are within E, and there was at least one.
  bool accepted() const { return problem.empty() && rejected == 0 && between == 0 && judged > 0; }
  // Not accepted, but no element is outside the hard bound.
  bool suspect() const { return problem.empty() && rejected == 0 && between > 0; }
  // Nothing could be judged: neither pass nor failure.
  bool undecided() const { return problem.empty() && judged == 0; }
};

// `actual` in its own type (float32, float16, bfloat16, float64), on any device, any strides; `oracle` FP64
// on the CPU. The output's own scale is the RMS of the oracle's finite elements along its last dimension, or
// over the whole output where that is shorter than 8.
Comparison compare(const at::Tensor& actual, const at::Tensor& oracle, const Bound& bound,
                   const results::Rules& rules);

// RN(y - E) and RN(y + E) at logical positions, NaN where the oracle is. `hard`: by the hard bound, for a
// `suspect`.
struct Limits {
  std::vector<double> low;
  std::vector<double> high;
};
Limits limits(const at::Tensor& oracle, const Bound& bound, c10::ScalarType type,
              std::span<const std::int64_t> positions, bool hard);

// What a precision does to a result, against the FP32 baseline's. Errors where both are finite.
struct Cost {
  std::string problem;
  std::int64_t elements = 0;
  std::int64_t nan_mismatch = 0;
  std::int64_t inf_mismatch = 0;
  double max_abs_error = 0.0;
  std::vector<std::int64_t> position{};  // of the largest error
  double expected = 0.0;                 // there, in the baseline
  double actual = 0.0;
  double relative_rms_error = 0.0;  // RMS error / RMS of the baseline; infinite when only the latter is 0
  double mean_signed_error = 0.0;
};
Cost precision_cost(const at::Tensor& actual, const at::Tensor& baseline);

// For families without a bound: RMSE(out) against what rounding the oracle alone would cost.
struct ErrorRatio {
  std::string problem;
  double actual_rmse = 0.0;
  double rounded_rmse = 0.0;  // RMSE(RN(oracle))
  double ratio = 0.0;         // (RMSE(out) - smallest subnormal) / RMSE(RN(oracle)), at least 0
  bool masks_equal = true;    // NaN and ±Inf of the rounded oracle, by position
  bool accepted(const results::Rules& rules) const {
    return problem.empty() && masks_equal && ratio <= rules.bounds.error_ratio;
  }
};
ErrorRatio error_ratio(const at::Tensor& actual, const at::Tensor& oracle);

}  // namespace ampgate::validate
