#include "validate/compare.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <array>
#include <cmath>
#include <limits>

#include "precision/formats.h"
#include "validate/elements.h"

namespace ampgate::validate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Rows shorter than this have no scale of their own.
constexpr std::int64_t kShortestRow = 8;
// Errors of a few smallest normal FP32 numbers don't make a row of zeros ill-conditioned.
constexpr double kNegligible = 0x1p-124;

double root_mean_square(const double* values, std::int64_t count) {
  double sum = 0.0;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) continue;
    sum += values[i] * values[i];
    ++finite;
  }
  return finite == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(finite));
}

// The output's own scale at each element: RMS of the oracle's row, or of the whole. Short rows are done when
// they are met.
class Scale {
 public:
  explicit Scale(const at::Tensor& oracle)
      : values_(oracle.const_data_ptr<double>()), row_length_(oracle.numel()) {
    if (oracle.dim() > 0 && oracle.size(-1) >= kShortestRow) row_length_ = oracle.size(-1);
    if (row_length_ != oracle.numel() && row_length_ <= kStretch) return;
    known_.resize(static_cast<std::size_t>(row_length_ == 0 ? 0 : oracle.numel() / row_length_));
    at::parallel_for(0, static_cast<std::int64_t>(known_.size()), 1,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t row = begin; row < end; ++row)
                         known_[static_cast<std::size_t>(row)] = of(row);
                     });
  }
  std::int64_t row_of(std::int64_t index) const { return index / row_length_; }
  double of_row(std::int64_t row) const {
    return known_.empty() ? of(row) : known_[static_cast<std::size_t>(row)];
  }

 private:
  double of(std::int64_t row) const { return root_mean_square(values_ + row * row_length_, row_length_); }

  const double* values_;
  std::int64_t row_length_;
  std::vector<double> known_;
};

struct Tally {
  Comparison result;
  std::int64_t worst = -1;
  double worst_error = -1.0;
  std::int64_t finite = 0;
  double sum_error = 0.0;
  double sum_squared_error = 0.0;
  double sum_squared_reference = 0.0;

  void worst_at(std::int64_t index, double margin, double error, double expected, double actual,
                double bound) {
    if (worst >= 0 && !(margin > result.margin || (margin == result.margin && error > worst_error))) return;
    worst = index;
    worst_error = error;
    result.margin = margin;
    result.expected = expected;
    result.actual = actual;
    result.bound = bound;
  }

  void merge(const Tally& other) {
    Comparison& a = result;
    const Comparison& b = other.result;
    a.judged += b.judged;
    a.rejected += b.rejected;
    a.between += b.between;
    a.nan_mismatch += b.nan_mismatch;
    a.inf_mismatch += b.inf_mismatch;
    a.ill_conditioned += b.ill_conditioned;
    a.max_abs_error = std::max(a.max_abs_error, b.max_abs_error);
    a.max_ulp = std::max(a.max_ulp, b.max_ulp);
    finite += other.finite;
    sum_error += other.sum_error;
    sum_squared_error += other.sum_squared_error;
    sum_squared_reference += other.sum_squared_reference;
    if (other.worst >= 0) worst_at(other.worst, b.margin, other.worst_error, b.expected, b.actual, b.bound);
  }
};

struct Judge {
  const precision::Format& format;
  precision::RoundingInterval overflow;  // of +inf
  double ill_conditioned;
  bool exact_zeros;

  bool accepts(double y, double error, const precision::RoundingInterval& out) const {
    return out.reaches_from_below(y + error) && out.reaches_from_above(y - error);
  }

  // One element: `out` against y with E, and with the hard bound where there is one (negative: none).
  void element(Tally& tally, std::int64_t index, double out, double y, double error, double hard,
               double scale) const {
    Comparison& result = tally.result;
    const bool nan_differs = std::isnan(out) != std::isnan(y);
    if (nan_differs || !std::isfinite(y)) {
      ++result.judged;
      if (!nan_differs && (std::isnan(y) || out == y)) return;
      ++(nan_differs ? result.nan_mismatch : result.inf_mismatch);
      ++result.rejected;
      tally.worst_at(index, kInfinity, kInfinity, y, out, error);
      return;
    }

    const auto interval = precision::rounding_interval(out, format);
    const double difference = out - y;
    const bool both_finite = std::isfinite(out) && !overflow.reaches_from_below(std::abs(y));
    if (both_finite) {
      ++tally.finite;
      tally.sum_error += difference;
      tally.sum_squared_error += difference * difference;
      tally.sum_squared_reference += y * y;
      result.max_abs_error = std::max(result.max_abs_error, std::abs(difference));
      if (!accepts(y, 0.0, interval)) {
        const double rounded = precision::round_to(y, format);
        result.max_ulp = std::max(result.max_ulp, precision::ulp_distance(out, rounded, format));
      }
    }

    // Written so that a NaN among the bounds counts as ill-conditioned.
    const bool well_conditioned = error <= kNegligible || error <= ill_conditioned * scale;
    const bool wrong_zero = exact_zeros && out == 0.0 && y == 0.0 && std::signbit(out) != std::signbit(y);
    const bool accepted = accepts(y, error, interval) && !wrong_zero;
    const bool wrong_infinity = !accepted && !both_finite && std::isfinite(error);
    if (!well_conditioned) {
      ++result.ill_conditioned;
      if (!wrong_infinity) return;
    }
    ++result.judged;
    if (!accepted) {
      const bool within_hard = !wrong_zero && hard >= 0.0 && accepts(y, hard, interval);
      ++(within_hard ? result.between : result.rejected);
      if (wrong_infinity && !within_hard) ++result.inf_mismatch;
    }
    const double excess = std::max({0.0, interval.low - y, y - interval.high});
    // At a tie the last bit of y ± E decides, which the quotient need not see.
    double margin = excess == 0.0 ? 0.0 : excess / error;
    if (accepted) margin = std::min(margin, 1.0);
    if (!accepted) margin = wrong_zero ? kInfinity : std::max(margin, std::nextafter(1.0, 2.0));
    tally.worst_at(index, margin, std::abs(difference), y, out, error);
  }
};

}  // namespace

Comparison compare(const at::Tensor& actual, const at::Tensor& oracle, const Bound& bound,
                   const results::Rules& rules) {
  Comparison total;
  total.problem = why_incomparable(actual, oracle);
  if (!total.problem.empty()) return total;
  TORCH_CHECK(oracle.scalar_type() == at::kDouble && bound.error.scalar_type() == at::kDouble &&
                  bound.error.sizes() == oracle.sizes(),
              "compare takes an oracle and a bound in float64 of the same sizes");

  const at::Tensor reference = oracle.contiguous();
  const at::Tensor errors = bound.error.contiguous();
  const at::Tensor hard = bound.hard.defined() ? bound.hard.contiguous() : at::Tensor();
  const double* y = reference.const_data_ptr<double>();
  const double* error = errors.const_data_ptr<double>();
  const double* hard_error = hard.defined() ? hard.const_data_ptr<double>() : nullptr;

  const Elements out(actual);
  const Scale scale(reference);
  const auto& format = precision::format_of(actual.scalar_type());
  const Judge judge{format, precision::rounding_interval(kInfinity, format), rules.bounds.ill_conditioned,
                    bound.exact_zeros};
  std::vector<Tally> tallies(static_cast<std::size_t>(block_count(out.count())));
  for_each_stretch(out.count(), [&](std::int64_t block, std::int64_t start, std::int64_t count) {
    std::array<double, kStretch> values;
    out.read(start, count, values.data());
    Tally& tally = tallies[static_cast<std::size_t>(block)];
    std::int64_t row = -1;
    double row_scale = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = start + i;
      if (scale.row_of(index) != row) {
        row = scale.row_of(index);
        row_scale = scale.of_row(row);
      }
      judge.element(tally, index, values[static_cast<std::size_t>(i)], y[index], error[index],
                    hard_error != nullptr ? hard_error[index] : -1.0, row_scale);
    }
  });

  Tally sum;
  for (const Tally& tally : tallies) sum.merge(tally);
  total = sum.result;
  total.elements = out.count();
  if (sum.worst >= 0) total.position = position_of(sum.worst, oracle.sizes());
  if (sum.finite > 0) {
    const double count = static_cast<double>(sum.finite);
    total.mean_signed_error = sum.sum_error / count;
    total.rms_error = std::sqrt(sum.sum_squared_error / count);
    total.rms_reference = std::sqrt(sum.sum_squared_reference / count);
  }
  return total;
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
