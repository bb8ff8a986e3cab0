#include "slow_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "precision/formats.h"
#include "validate/elements.h"

namespace ampgate::validate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double row_scale(const double* y, std::int64_t index, std::int64_t row_length) {
  const double* row = y + index / row_length * row_length;
  double sum = 0.0;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < row_length; ++i) {
    if (!std::isfinite(row[i])) continue;
    sum += row[i] * row[i];
    ++finite;
  }
  return finite == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(finite));
}

struct Sums {
  std::int64_t finite = 0;
  double error = 0.0;
  double squares = 0.0;
  double reference = 0.0;
};

}  // namespace

Comparison slow_comparison(const at::Tensor& actual, const at::Tensor& oracle, const Bound& bound,
                           const results::Rules& rules) {
  const auto& format = precision::format_of(actual.scalar_type());
  const at::Tensor widened = actual.to(at::kDouble);
  const double* out = widened.const_data_ptr<double>();
  const double* y = oracle.const_data_ptr<double>();
  const double* error = bound.error.const_data_ptr<double>();
  const double* hard = bound.hard.defined() ? bound.hard.const_data_ptr<double>() : nullptr;
  const bool own_rows = oracle.dim() > 0 && oracle.size(-1) >= 8;
  const std::int64_t row_length = own_rows ? oracle.size(-1) : oracle.numel();

  Comparison c;
  c.elements = oracle.numel();
  Sums sums;
  std::int64_t worst = -1;
  double worst_error = 0.0;
  double scale = 0.0;
  for (std::int64_t i = 0; i < oracle.numel(); ++i) {
    if (i % row_length == 0) scale = row_scale(y, i, row_length);
    const auto take = [&](double margin, double distance) {
      if (worst >= 0 && !(margin > c.margin || (margin == c.margin && distance > worst_error))) return;
      worst = i;
      c.margin = margin;
      worst_error = distance;
    };
    const auto reaches = [&](double e) {
      return precision::round_to(y[i] - e, format) <= out[i] &&
             out[i] <= precision::round_to(y[i] + e, format);
    };
    const double rounded = precision::round_to(y[i], format);
    if (std::isnan(out[i]) || !std::isfinite(y[i])) {
      ++c.judged;
      if (out[i] == y[i] || (std::isnan(out[i]) && std::isnan(y[i]))) continue;
      ++(std::isnan(out[i]) != std::isnan(y[i]) ? c.nan_mismatch : c.inf_mismatch);
      ++c.rejected;
      take(kInfinity, kInfinity);
      continue;
    }
    const bool both_finite = std::isfinite(out[i]) && std::isfinite(rounded);
    const double distance = std::abs(out[i] - y[i]);
    if (both_finite) {
      ++sums.finite;
      sums.error += out[i] - y[i];
      sums.squares += distance * distance;
      sums.reference += y[i] * y[i];
      if (distance > c.max_abs_error) c.largest_at = position_of(i, oracle.sizes());
      c.max_abs_error = std::max(c.max_abs_error, distance);
      c.max_ulp = std::max(c.max_ulp, precision::ulp_distance(out[i], rounded, format));
    }
    const bool wrong_zero =
        bound.exact_zeros && out[i] == 0.0 && y[i] == 0.0 && std::signbit(out[i]) != std::signbit(y[i]);
    const bool accepted = reaches(error[i]) && !wrong_zero;
    const bool wrong_infinity = !accepted && !both_finite && std::isfinite(error[i]);
    if (!(error[i] <= std::max(0x1p-124, rules.bounds.ill_conditioned * scale))) {
      ++c.ill_conditioned;
      if (!wrong_infinity) continue;
    }
    ++c.judged;
    if (!accepted) {
      const bool within_hard = hard != nullptr && reaches(hard[i]) && !wrong_zero;
      ++(within_hard ? c.between : c.rejected);
      if (wrong_infinity && !within_hard) ++c.inf_mismatch;
    }
    const auto interval = precision::rounding_interval(out[i], format);
    const double excess = std::max({0.0, interval.low - y[i], y[i] - interval.high});
    const double margin = excess == 0.0 ? 0.0 : excess / error[i];
    if (wrong_zero) {
      take(kInfinity, distance);
    } else {
      take(accepted ? std::min(margin, 1.0) : std::max(margin, std::nextafter(1.0, 2.0)), distance);
    }
  }
  if (worst >= 0) {
    c.expected = y[worst];
    c.actual = out[worst];
    c.bound = error[worst];
    c.position.resize(static_cast<std::size_t>(oracle.dim()));
    for (std::int64_t dim = oracle.dim(); dim-- > 0; worst /= oracle.size(dim)) {
      c.position[static_cast<std::size_t>(dim)] = worst % oracle.size(dim);
    }
  }
  if (sums.finite > 0) {
    const double count = static_cast<double>(sums.finite);
    c.mean_signed_error = sums.error / count;
    c.rms_error = std::sqrt(sums.squares / count);
    c.rms_reference = std::sqrt(sums.reference / count);
  }
  return c;
}

void expect_same(const Comparison& fast, const Comparison& slow) {
  EXPECT_EQ(fast.problem, slow.problem);
  EXPECT_EQ(fast.elements, slow.elements);
  EXPECT_EQ(fast.judged, slow.judged);
  EXPECT_EQ(fast.rejected, slow.rejected);
  EXPECT_EQ(fast.between, slow.between);
  EXPECT_EQ(fast.nan_mismatch, slow.nan_mismatch);
  EXPECT_EQ(fast.inf_mismatch, slow.inf_mismatch);
  EXPECT_EQ(fast.ill_conditioned, slow.ill_conditioned);
  EXPECT_EQ(fast.max_abs_error, slow.max_abs_error);
  EXPECT_EQ(fast.largest_at, slow.largest_at);
  EXPECT_EQ(fast.max_ulp, slow.max_ulp);
  EXPECT_EQ(fast.margin, slow.margin);
  EXPECT_EQ(fast.position, slow.position);
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  EXPECT_TRUE(same(fast.expected, slow.expected)) << fast.expected << ' ' << slow.expected;
  EXPECT_TRUE(same(fast.actual, slow.actual)) << fast.actual << ' ' << slow.actual;
  EXPECT_TRUE(same(fast.bound, slow.bound)) << fast.bound << ' ' << slow.bound;
  // Sums of the squares of float64 values can overflow.
  const auto near = [&](double a, double b, double size) {
    return same(a, b) || std::abs(a - b) <= 1e-12 * size;
  };
  EXPECT_TRUE(near(fast.mean_signed_error, slow.mean_signed_error, slow.max_abs_error + slow.rms_error))
      << fast.mean_signed_error << ' ' << slow.mean_signed_error;
  EXPECT_TRUE(near(fast.rms_error, slow.rms_error, slow.rms_error))
      << fast.rms_error << ' ' << slow.rms_error;
  EXPECT_TRUE(near(fast.rms_reference, slow.rms_reference, slow.rms_reference))
      << fast.rms_reference << ' ' << slow.rms_reference;
}

}  // namespace ampgate::validate
