#include "validate/compare.h"

#include <ATen/ATen.h>

#include <cmath>
#include <optional>

#include "backends/digest_parts.h"
#include "precision/formats.h"
#include "validate/comparison_pass.h"

namespace ampgate::validate {
namespace {

// Rows shorter than this have no scale of their own.
constexpr std::int64_t kShortestRow = 8;

backends::judge::Format format_for(c10::ScalarType type) {
  const auto& format = precision::format_of(type);
  if (type == at::kDouble) return {format.significand_bits, format.min_exponent, backends::judge::kInfinity};
  // Half a unit above the largest finite value.
  const double overflow = format.max + std::ldexp(1.0, 1 - format.min_exponent - format.significand_bits);
  return {format.significand_bits, format.min_exponent, overflow};
}

void describe(const ComparisonSums& sums, Comparison& comparison) {
  const auto& counts = sums.counts;
  comparison.judged = counts.judged;
  comparison.rejected = counts.rejected;
  comparison.between = counts.between;
  comparison.nan_mismatch = counts.nan_mismatch;
  comparison.inf_mismatch = counts.inf_mismatch;
  comparison.ill_conditioned = counts.ill_conditioned;
  comparison.max_ulp = counts.max_ulp;
  comparison.margin = counts.worst.margin;
  const auto& errors = sums.errors;
  comparison.max_abs_error = errors.largest;
  if (errors.finite == 0) return;
  const double count = static_cast<double>(errors.finite);
  comparison.mean_signed_error = errors.sum / count;
  comparison.rms_error = std::sqrt(errors.sum_of_squares / count);
  comparison.rms_reference = std::sqrt(errors.reference_squares / count);
}

}  // namespace

Comparison compare(const at::Tensor& actual, const at::Tensor& oracle, const Bound& bound,
                   const results::Rules& rules) {
  Comparison result;
  result.problem = why_incomparable(actual, oracle);
  if (!result.problem.empty()) return result;
  TORCH_CHECK(oracle.scalar_type() == at::kDouble && bound.error.scalar_type() == at::kDouble &&
                  bound.error.sizes() == oracle.sizes(),
              "compare takes an oracle and a bound in float64 of the same sizes");

  std::optional<Elements> hard;
  if (bound.hard.defined()) hard.emplace(bound.hard);
  const bool own_rows = oracle.dim() > 0 && oracle.size(-1) >= kShortestRow;
  const Operands operands{Elements(actual), Elements(oracle), Elements(bound.error), hard ? &*hard : nullptr,
                          own_rows ? oracle.size(-1) : oracle.numel()};
  const ComparisonSums sums = compare_elements(
      operands, {format_for(actual.scalar_type()), bound.exact_zeros}, rules.bounds.ill_conditioned);
  result.elements = actual.numel();
  describe(sums, result);
  result.digest = backends::digest_of(sums.lanes, actual);
  if (sums.largest_at >= 0) result.largest_at = position_of(sums.largest_at, oracle.sizes());
  if (sums.counts.worst.index >= 0) {
    result.position = position_of(sums.counts.worst.index, oracle.sizes());
    result.expected = value_at(oracle, result.position);
    result.actual = value_at(actual, result.position);
    result.bound = value_at(bound.error, result.position);
  }
  return result;
}

Limits limits(const at::Tensor& oracle, const Bound& bound, c10::ScalarType type,
              std::span<const std::int64_t> positions, bool hard) {
  const at::Tensor y = oracle.contiguous();
  const at::Tensor error = (hard && bound.hard.defined() ? bound.hard : bound.error).contiguous();
  const auto& format = precision::format_of(type);
  Limits result;
  for (const std::int64_t position : positions) {
    TORCH_CHECK_INDEX(position >= 0 && position < y.numel(), "no such position in the output");
    const double value = y.const_data_ptr<double>()[position];
    const double allowed = error.const_data_ptr<double>()[position];
    const bool finite = std::isfinite(value);
    result.low.push_back(precision::round_to(finite ? value - allowed : value, format));
    result.high.push_back(precision::round_to(finite ? value + allowed : value, format));
  }
  return result;
}

}  // namespace ampgate::validate
