// Comparisons without a bound: what a precision costs, and the error-ratio rule.
#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <limits>

#include "precision/formats.h"
#include "validate/compare.h"
#include "validate/elements.h"

namespace ampgate::validate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ErrorSums {
  Cost cost;
  std::int64_t worst = -1;
  std::int64_t finite = 0;
  double signed_error = 0.0;
  double squared_error = 0.0;
  double squared_reference = 0.0;

  void element(std::int64_t index, double actual, double expected) {
    if (std::isnan(actual) || std::isnan(expected)) {
      if (std::isnan(actual) != std::isnan(expected)) ++cost.nan_mismatch;
      return;
    }
    if (!std::isfinite(actual) || !std::isfinite(expected)) {
      if (actual != expected) ++cost.inf_mismatch;
      return;
    }
    const double error = actual - expected;
    ++finite;
    signed_error += error;
    squared_error += error * error;
    squared_reference += expected * expected;
    if (worst < 0 || std::abs(error) > cost.max_abs_error) worst_at(index, std::abs(error), expected, actual);
  }

  void worst_at(std::int64_t index, double error, double expected, double actual) {
    worst = index;
    cost.max_abs_error = error;
    cost.expected = expected;
    cost.actual = actual;
  }

  void merge(const ErrorSums& other) {
    cost.nan_mismatch += other.cost.nan_mismatch;
    cost.inf_mismatch += other.cost.inf_mismatch;
    finite += other.finite;
    signed_error += other.signed_error;
    squared_error += other.squared_error;
    squared_reference += other.squared_reference;
    if (other.worst >= 0 && (worst < 0 || other.cost.max_abs_error > cost.max_abs_error)) {
      worst_at(other.worst, other.cost.max_abs_error, other.cost.expected, other.cost.actual);
    }
  }
};

double ratio_of(double error, double reference) {
  if (reference > 0.0) return error / reference;
  return error > 0.0 ? kInfinity : 0.0;
}

}  // namespace

Cost precision_cost(const at::Tensor& actual, const at::Tensor& baseline) {
  Cost cost;
  cost.problem = why_incomparable(actual, baseline);
  if (!cost.problem.empty()) return cost;
  const Elements out(actual);
  const Elements expected(baseline);
  std::vector<ErrorSums> blocks(static_cast<std::size_t>(block_count(out.count())));
  for_each_stretch(out.count(), [&](std::int64_t block, std::int64_t start, std::int64_t count) {
    std::array<double, kStretch> a;
    std::array<double, kStretch> b;
    out.read(start, count, a.data());
    expected.read(start, count, b.data());
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      blocks[static_cast<std::size_t>(block)].element(start + i, a[at], b[at]);
    }
  });

  ErrorSums sums;
  for (const auto& block : blocks) sums.merge(block);
  cost = sums.cost;
  cost.elements = out.count();
  if (sums.worst >= 0) cost.position = position_of(sums.worst, actual.sizes());
  if (sums.finite > 0) cost.mean_signed_error = sums.signed_error / static_cast<double>(sums.finite);
  cost.relative_rms_error = ratio_of(std::sqrt(sums.squared_error), std::sqrt(sums.squared_reference));
  return cost;
}

ErrorRatio error_ratio(const at::Tensor& actual, const at::Tensor& oracle) {
  ErrorRatio result;
  result.problem = why_incomparable(actual, oracle);
  if (!result.problem.empty()) return result;
  const Elements out(actual);
  const Elements expected(oracle);
  const auto& format = precision::format_of(actual.scalar_type());
  struct Sums {
    double actual = 0.0;
    double rounded = 0.0;
    std::int64_t finite = 0;
    bool masks_equal = true;
  };
  std::vector<Sums> blocks(static_cast<std::size_t>(block_count(out.count())));
  for_each_stretch(out.count(), [&](std::int64_t block, std::int64_t start, std::int64_t count) {
    std::array<double, kStretch> a;
    std::array<double, kStretch> y;
    out.read(start, count, a.data());
    expected.read(start, count, y.data());
    Sums& sums = blocks[static_cast<std::size_t>(block)];
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const double rounded = precision::round_to(y[i], format);
      if (std::isfinite(rounded) && std::isfinite(a[i])) {
        sums.actual += (a[i] - y[i]) * (a[i] - y[i]);
        sums.rounded += (rounded - y[i]) * (rounded - y[i]);
        ++sums.finite;
      } else if (a[i] != rounded && !(std::isnan(a[i]) && std::isnan(rounded))) {
        sums.masks_equal = false;
      }
    }
  });

  Sums total;
  for (const auto& block : blocks) {
    total.actual += block.actual;
    total.rounded += block.rounded;
    total.finite += block.finite;
    total.masks_equal = total.masks_equal && block.masks_equal;
  }
  if (total.finite > 0) {
    result.actual_rmse = std::sqrt(total.actual / static_cast<double>(total.finite));
    result.rounded_rmse = std::sqrt(total.rounded / static_cast<double>(total.finite));
  }
  result.masks_equal = total.masks_equal;
  result.ratio =
      ratio_of(std::max(0.0, result.actual_rmse - format.smallest_subnormal()), result.rounded_rmse);
  return result;
}

}  // namespace ampgate::validate
