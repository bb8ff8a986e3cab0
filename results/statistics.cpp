#include "results/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "results/resampling.h"

namespace ampgate::results {
namespace {

constexpr std::size_t kFewestGroups = 6;

using ByCell = std::map<std::pair<int, int>, double>;  // (process, block) -> log t

ByCell logs_by_cell(std::span<const Sample> samples) {
  ByCell cells;
  for (const Sample& sample : samples) {
    if (!(sample.time_ns > 0) || !std::isfinite(sample.time_ns)) {
      throw std::invalid_argument("a time must be finite and positive, is " + std::to_string(sample.time_ns) +
                                  " ns");
    }
    if (!cells.emplace(std::pair(sample.process, sample.block), std::log(sample.time_ns)).second) {
      throw std::invalid_argument("two samples of process " + std::to_string(sample.process) + ", block " +
                                  std::to_string(sample.block));
    }
  }
  return cells;
}

Series by_process(const ByCell& cells) {
  Series series;
  const int* process = nullptr;
  for (const auto& [cell, value] : cells) {
    if (process == nullptr || *process != cell.first) series.emplace_back();
    process = &cell.first;
    series.back().push_back(value);
  }
  return series;
}

std::vector<double> pooled(const Series& series) {
  std::vector<double> values;
  for (const auto& of_process : series) values.insert(values.end(), of_process.begin(), of_process.end());
  return values;
}

double deviation(std::vector<double> values, double centre) {
  for (double& value : values) value = std::abs(value - centre);
  return median(std::move(values));
}

// All of the estimate but value and mad, on log scale.
//
// The percentile bootstrap alone covers too little when processes are few: with n of them it cannot reach
// past the n medians that it saw, which hold the true one between them in 1 - 2^(1-n) of runs (75 % for
// three). Student's t over the processes' medians is exact at every n when these are normal on log scale,
// whatever the blocks do; so the interval is the hull of both. With one process its groups of blocks stand in
// for processes.
Estimate describe(const Series& series, double level, std::uint64_t seed) {
  if (!(level > 0 && level < 1)) throw std::invalid_argument("a level must lie inside (0, 1)");
  if (series.empty()) throw std::invalid_argument("no samples");
  Estimate estimate;
  estimate.processes = static_cast<int>(series.size());
  estimate.samples = static_cast<int>(count_groups(series, 1));
  estimate.lag1 = lag1_autocorrelation(series);
  estimate.drift = std::expm1(slope_per_block(series));

  const std::size_t size = group_size(series);
  const std::size_t groups = count_groups(series, size);
  const std::string units =
      size == 1 ? "blocks" : "groups of " + std::to_string(size) + " neighbouring blocks";
  if (groups < kFewestGroups) {
    estimate.method = "no interval: " + std::to_string(groups) + " " + units + ", at least " +
                      std::to_string(kFewestGroups) + " are needed";
    return estimate;
  }
  const Interval resampled = bootstrap_median(series, size, level, seed);
  const Interval normal = student_interval(unit_medians(series, size), level);
  const Interval interval{std::min(resampled.low, normal.low), std::max(resampled.high, normal.high)};
  const bool one = series.size() == 1;
  estimate.method = "hierarchical percentile bootstrap of the median over processes and " + units +
                    ", joined with Student's t over the medians of " + (one ? units : "processes") +
                    " (log scale)";
  if (one) estimate.method += "; one process only, so the spread between processes is not in it";
  estimate.interval = Interval{std::exp(interval.low), std::exp(interval.high)};
  return estimate;
}

}  // namespace

Estimate median_time(std::span<const Sample> samples, double level, std::uint64_t seed) {
  Estimate estimate = describe(by_process(logs_by_cell(samples)), level, seed);
  std::vector<double> times;
  for (const Sample& sample : samples) times.push_back(sample.time_ns);
  estimate.value = median(times);
  estimate.mad = deviation(std::move(times), estimate.value);
  return estimate;
}

Estimate paired_ratio(std::span<const Sample> numerator, std::span<const Sample> denominator, double level,
                      std::uint64_t seed) {
  const ByCell above = logs_by_cell(numerator);
  ByCell ratios;
  for (const auto& [cell, log_time] : logs_by_cell(denominator)) {
    if (const auto match = above.find(cell); match != above.end()) ratios[cell] = match->second - log_time;
  }
  const Series series = by_process(ratios);
  Estimate estimate = describe(series, level, seed);
  const double centre = median(pooled(series));
  estimate.value = std::exp(centre);
  estimate.mad = deviation(pooled(series), centre);
  return estimate;
}

double level_at_look(double level, int look) {
  if (!(level > 0 && level < 1) || look < 1) {
    throw std::invalid_argument("looks count from 1, and a level lies inside (0, 1)");
  }
  return 1 - (1 - level) / (static_cast<double>(look) * (look + 1.0));
}

int blocks_at_look(int look) {
  if (look < 1) throw std::invalid_argument("looks count from 1");
  int blocks = 20;
  for (int i = 1; i < look; ++i) {
    if (blocks > std::numeric_limits<int>::max() / 2) throw std::invalid_argument("a look too late to count");
    blocks += (blocks + 1) / 2;
  }
  return blocks;
}

double rate_upper_limit(std::int64_t count, std::int64_t trials, double level) {
  if (count < 0 || trials < 1 || count > trials || !(level > 0.0 && level < 1.0)) {
    throw std::invalid_argument("a rate needs 0 <= count <= trials, a trial, and a level between 0 and 1");
  }
  if (count == trials) return 1.0;
  const auto n = static_cast<double>(trials);
  // P(at most `count` hits), falling in the rate.
  const auto probability = [&](double rate) {
    double sum = 0.0;
    for (std::int64_t i = 0; i <= count; ++i) {
      const auto k = static_cast<double>(i);
      sum += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(rate) +
                      (n - k) * std::log1p(-rate));
    }
    return sum;
  };
  double low = 0.0, high = 1.0;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2.0;
    (probability(middle) > 1.0 - level ? low : high) = middle;
  }
  return high;
}

double relative_half_width(const Estimate& estimate) {
  if (!estimate.interval) return std::numeric_limits<double>::infinity();
  return (estimate.interval->high - estimate.interval->low) / 2 / estimate.value;
}

}  // namespace ampgate::results
