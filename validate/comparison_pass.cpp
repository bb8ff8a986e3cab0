#include "validate/comparison_pass.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <vector>

#include "backends/scan.h"

namespace ampgate::validate {
namespace {

namespace judge = backends::judge;
namespace scan = backends::scan;

// Elements ahead for which memory is asked: far enough to hide its latency, near enough to stay in the cache.
constexpr std::int64_t kAhead = 2 * kBlock;
constexpr std::int64_t kWord = 8;  // bytes, of the digest

// Rows from here on are long.
constexpr std::int64_t kLongRow = 4096;

// How the elements are shared out. Short rows: several whole ones a unit, whose scales are taken while the
// unit is in the cache. Long rows: one or several units a row, and the row's scale is known only after the
// pass.
class Layout {
 public:
  Layout(std::int64_t elements, std::int64_t row_length) : elements_(elements), row_length_(row_length) {
    if (long_rows()) {
      units_per_row_ = unit_count(row_length);
      units_ = elements / row_length * units_per_row_;
    } else if (elements > 0) {
      unit_ = std::max<std::int64_t>(1, kUnit / row_length) * row_length;
      units_ = (elements + unit_ - 1) / unit_;
    }
  }
  bool long_rows() const { return row_length_ >= kLongRow; }
  std::int64_t row_length() const { return row_length_; }
  std::int64_t units() const { return units_; }
  std::int64_t rows() const { return elements_ / row_length_; }
  std::int64_t units_per_row() const { return units_per_row_; }
  std::int64_t begin(std::int64_t unit) const {
    if (!long_rows()) return unit * unit_;
    return unit / units_per_row_ * row_length_ + unit % units_per_row_ * kUnit;
  }
  std::int64_t end(std::int64_t unit) const {
    if (!long_rows()) return std::min(elements_, (unit + 1) * unit_);
    return std::min((unit / units_per_row_ + 1) * row_length_, begin(unit) + kUnit);
  }

 private:
  std::int64_t elements_;
  std::int64_t row_length_;
  std::int64_t unit_ = kUnit;
  std::int64_t units_per_row_ = 1;
  std::int64_t units_ = 0;
};

struct Unit {
  ComparisonSums sums;
  judge::Squares squares;
  double largest_bound = 0.0;
};

class Pass {
 public:
  Pass(const Operands& operands, const judge::Rule& rule, double ill_conditioned)
      : operands_(operands),
        rule_(rule),
        ill_conditioned_(ill_conditioned),
        layout_(operands.out.count(), operands.row_length),
        units_(static_cast<std::size_t>(layout_.units())) {}

  ComparisonSums run() {
    // Most rows are well-conditioned throughout: a long one is judged as if it were, and again if it is not.
    judge_units(0, layout_.units(), judge::kInfinity);
    if (layout_.long_rows()) {
      for (std::int64_t row = 0; row < layout_.rows(); ++row) judge_again(row);
    }
    ComparisonSums total;
    for (const Unit& unit : units_) {
      total.counts.merge(unit.sums.counts);
      total.errors.merge(unit.sums.errors);
      backends::hash::add(total.lanes, unit.sums.lanes);
    }
    total.largest_at = place_of(total.errors.largest);
    return total;
  }

 private:
  // What a thread knows when it comes to a block; it saves work and changes no result.
  struct Known {
    explicit Known(const judge::Rule& rule) : filter(rule, counts) {}
    judge::Counts counts;
    scan::Filter filter;
  };

  // Only the unit that holds it is read again.
  std::int64_t place_of(double largest) const {
    if (largest == 0.0) return -1;
    const auto unit = std::find_if(units_.begin(), units_.end(),
                                   [&](const Unit& other) { return other.sums.errors.largest == largest; });
    const auto number = unit - units_.begin();
    for (std::int64_t i = layout_.begin(number); i < layout_.end(number); ++i) {
      double out_buffer;
      double y_buffer;
      judge::Errors errors;
      judge::measure(errors, rule_, *operands_.out.read(i, 1, &out_buffer),
                     *operands_.y.read(i, 1, &y_buffer));
      if (errors.largest == largest) return i;
    }
    return -1;
  }

  Unit& unit(std::int64_t number) { return units_[static_cast<std::size_t>(number)]; }

  void judge_again(std::int64_t row) {
    const std::int64_t first = row * layout_.units_per_row();
    const std::int64_t last = first + layout_.units_per_row();
    judge::Squares squares;
    double largest_bound = 0.0;
    for (std::int64_t number = first; number < last; ++number) {
      squares.merge(unit(number).squares);
      largest_bound = std::max(largest_bound, unit(number).largest_bound);
    }
    const double limit = squares.limit(ill_conditioned_);
    if (largest_bound > limit) judge_units(first, last, limit);
  }

  // `limit` is that of long rows.
  void judge_units(std::int64_t first, std::int64_t last, double limit) {
    at::parallel_for(first, last, 1, [&](std::int64_t begin, std::int64_t end) {
      Known known(rule_);
      std::vector<double> limits;
      for (std::int64_t number = begin; number < end; ++number) {
        unit(number) = {};
        limits = layout_.long_rows() ? std::vector<double>(1, limit) : row_limits(number);
        judge_unit(number, limits, known);
      }
    });
  }

  std::vector<double> row_limits(std::int64_t number) const {
    std::vector<double> limits;
    for (std::int64_t row = layout_.begin(number); row < layout_.end(number); row += layout_.row_length()) {
      limits.push_back(squares_of(row, row + layout_.row_length()).limit(ill_conditioned_));
    }
    return limits;
  }

  judge::Squares squares_of(std::int64_t begin, std::int64_t end) const {
    std::array<double, kBlock> buffer;
    judge::Squares total;
    for (std::int64_t start = begin; start < end; start += kBlock) {
      const std::int64_t count = std::min(kBlock, end - start);
      operands_.y.prefetch(start + kAhead, kBlock);
      total.merge(scan::squares(operands_.y.read(start, count, buffer.data()), count));
    }
    return total;
  }

  void judge_unit(std::int64_t number, const std::vector<double>& limits, Known& known) {
    const std::int64_t begin = layout_.begin(number);
    const std::int64_t end = layout_.end(number);
    std::array<double, kBlock> block_limits;
    block_limits.fill(limits[0]);
    for (std::int64_t start = begin; start < end; start += kBlock) {
      const std::int64_t count = std::min(kBlock, end - start);
      if (limits.size() > 1) {
        for (std::int64_t i = 0; i < count;) {
          const std::int64_t row = (start - begin + i) / layout_.row_length();
          const std::int64_t stop = std::min(count, (row + 1) * layout_.row_length() - (start - begin));
          std::fill(&block_limits[static_cast<std::size_t>(i)], block_limits.data() + stop,
                    limits[static_cast<std::size_t>(row)]);
          i = stop;
        }
      }
      judge_block(start, count, block_limits.data(), known, unit(number));
      add_words(start, count, unit(number).sums.lanes);
    }
  }

  void judge_block(std::int64_t start, std::int64_t count, const double* limits, Known& known, Unit& unit) {
    operands_.out.prefetch(start + kAhead, kBlock);
    operands_.y.prefetch(start + kAhead, kBlock);
    operands_.error.prefetch(start + kAhead, kBlock);
    std::array<double, kBlock> out_buffer;
    std::array<double, kBlock> y_buffer;
    std::array<double, kBlock> error_buffer;
    const double* const out = operands_.out.read(start, count, out_buffer.data());
    const double* const y = operands_.y.read(start, count, y_buffer.data());
    const double* const error = operands_.error.read(start, count, error_buffer.data());

    const scan::Seen seen = scan::errors(out, y, error, limits, count, known.filter);
    unit.largest_bound = std::max(unit.largest_bound, seen.largest_bound);
    const bool special = seen.special || rule_.format.is_float64();
    if (special) {
      for (std::int64_t i = 0; i < count; ++i) judge::measure(unit.sums.errors, rule_, out[i], y[i]);
      if (layout_.long_rows()) unit.squares.merge(scan::squares(y, count));
    } else {
      unit.sums.errors.merge(seen.errors);
      unit.squares.merge({count, seen.errors.reference_squares});
    }
    const judge::Worst& worst = known.counts.worst;
    const bool new_worst = worst.index < 0 || (worst.margin == 0.0 && seen.errors.largest > worst.error);
    if (!special && !seen.remarkable && !new_worst) {
      unit.sums.counts.judged += count;
      return;
    }
    std::array<double, kBlock> hard_buffer;
    const double* const hard =
        operands_.hard == nullptr ? nullptr : operands_.hard->read(start, count, hard_buffer.data());
    judge::Counts counts;
    for (std::int64_t i = 0; i < count; ++i) {
      judge::judge(counts, rule_,
                   {start + i, out[i], y[i], error[i], hard == nullptr ? -1.0 : hard[i], limits[i]});
    }
    unit.sums.counts.merge(counts);
    known.counts.merge(counts);
    known.filter = scan::Filter(rule_, known.counts);
  }

  // The words that begin in this block.
  void add_words(std::int64_t start, std::int64_t count, backends::hash::Lanes& lanes) const {
    const Elements& out = operands_.out;
    const std::int64_t per_word = kWord / out.width();
    const auto rounded_up = [&](std::int64_t element) {
      return std::min(out.count(), (element + per_word - 1) / per_word * per_word);
    };
    const std::int64_t begin = rounded_up(start);
    const std::int64_t end = rounded_up(start + count);
    if (begin == end) return;
    std::array<double, kBlock + 1> buffer;
    const void* const data = out.raw(begin, end - begin, buffer.data());
    backends::hash::add(lanes, scan::sum_words(data, static_cast<std::uint64_t>((end - begin) * out.width()),
                                               static_cast<std::uint64_t>(begin / per_word)));
  }

  const Operands& operands_;
  const judge::Rule rule_;
  const double ill_conditioned_;
  const Layout layout_;
  std::vector<Unit> units_;
};

}  // namespace

ComparisonSums compare_elements(const Operands& operands, const judge::Rule& rule, double ill_conditioned) {
  return Pass(operands, rule, ill_conditioned).run();
}

}  // namespace ampgate::validate
