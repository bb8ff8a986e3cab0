// Comparisons without a bound: what a precision costs, and the error-ratio rule.
#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <limits>

#include "backends/kernels/judge.h"
#include "backends/scan.h"
#include "precision/formats.h"
#include "validate/compare.h"
#include "validate/elements.h"

namespace ampgate::validate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct UnitCost {
  backends::judge::Errors errors;
  backends::judge::Worst worst;  // by error alone
  std::int64_t nan_mismatch = 0;
  std::int64_t inf_mismatch = 0;

  void element(std::int64_t index, double actual, double expected) {
    if (std::isnan(actual) || std::isnan(expected)) {
      if (std::isnan(actual) != std::isnan(expected)) ++nan_mismatch;
    } else if (!std::isfinite(actual) || !std::isfinite(expected)) {
      if (actual != expected) ++inf_mismatch;
    } else {
      const double error = actual - expected;
      errors.merge({1, error, error * error, expected * expected, std::abs(error)});
      worst.take(index, 0.0, std::abs(error));
    }
  }

  void block(const Elements& actual, const Elements& expected, std::int64_t start, std::int64_t count) {
    actual.prefetch(start + 2 * kBlock, kBlock);
    expected.prefetch(start + 2 * kBlock, kBlock);
    std::array<double, kBlock> a_buffer;
    std::array<double, kBlock> b_buffer;
    const double* const a = actual.read(start, count, a_buffer.data());
    const double* const b = expected.read(start, count, b_buffer.data());
    const auto seen = backends::scan::differences(a, b, count);
    if (seen.special) {
      for (std::int64_t i = 0; i < count; ++i) element(start + i, a[i], b[i]);
      return;
    }
    errors.merge(seen.errors);
    if (worst.index >= 0 && !(seen.errors.largest > worst.error)) return;
    std::int64_t first = 0;
    while (std::abs(a[first] - b[first]) != seen.errors.largest) ++first;
    worst.take(start + first, 0.0, seen.errors.largest);
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
  std::vector<UnitCost> units(static_cast<std::size_t>(unit_count(out.count())));
  for_each_unit(out.count(), [&](std::int64_t unit, std::int64_t begin, std::int64_t end) {
    for (std::int64_t start = begin; start < end; start += kBlock) {
      units[static_cast<std::size_t>(unit)].block(out, expected, start, std::min(kBlock, end - start));
    }
  });

  backends::judge::Errors errors;
  backends::judge::Worst worst;
  for (const auto& unit : units) {
    errors.merge(unit.errors);
    cost.nan_mismatch += unit.nan_mismatch;
    cost.inf_mismatch += unit.inf_mismatch;
    if (unit.worst.index >= 0) worst.take(unit.worst.index, 0.0, unit.worst.error);
  }
  cost.elements = out.count();
  cost.max_abs_error = errors.largest;
  if (worst.index >= 0) {
    cost.position = position_of(worst.index, actual.sizes());
    cost.expected = value_at(baseline, cost.position);
    cost.actual = value_at(actual, cost.position);
  }
  if (errors.finite > 0) cost.mean_signed_error = errors.sum / static_cast<double>(errors.finite);
  cost.relative_rms_error = ratio_of(std::sqrt(errors.sum_of_squares), std::sqrt(errors.reference_squares));
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
  std::vector<Sums> units(static_cast<std::size_t>(unit_count(out.count())));
  for_each_unit(out.count(), [&](std::int64_t unit, std::int64_t begin, std::int64_t end) {
    std::array<double, kBlock> a_buffer;
    std::array<double, kBlock> y_buffer;
    Sums& sums = units[static_cast<std::size_t>(unit)];
    for (std::int64_t start = begin; start < end; start += kBlock) {
      const std::int64_t count = std::min(kBlock, end - start);
      const double* const a = out.read(start, count, a_buffer.data());
      const double* const y = expected.read(start, count, y_buffer.data());
      for (std::int64_t i = 0; i < count; ++i) {
        const double rounded = precision::round_to(y[i], format);
        if (std::isfinite(rounded) && std::isfinite(a[i])) {
          sums.actual += (a[i] - y[i]) * (a[i] - y[i]);
          sums.rounded += (rounded - y[i]) * (rounded - y[i]);
          ++sums.finite;
        } else if (a[i] != rounded && !(std::isnan(a[i]) && std::isnan(rounded))) {
          sums.masks_equal = false;
        }
      }
    }
  });

  Sums total;
  for (const auto& unit : units) {
    total.actual += unit.actual;
    total.rounded += unit.rounded;
    total.finite += unit.finite;
    total.masks_equal = total.masks_equal && unit.masks_equal;
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
