#include "results/growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "results/series.h"

namespace ampgate::results {
namespace {

std::vector<double> logs_of(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

double slope(const std::vector<double>& x, const std::vector<double>& y) {
  const double middle_x = mean(x), middle_y = mean(y);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    products += (x[i] - middle_x) * (y[i] - middle_y);
    squares += (x[i] - middle_x) * (x[i] - middle_x);
  }
  if (!(squares > 0)) throw std::invalid_argument("growth needs two different sizes at least");
  return products / squares;
}

}  // namespace

double log_slope(const std::vector<double>& sizes, const std::vector<double>& values) {
  return slope(logs_of(sizes), logs_of(values));
}

double largest_deviation(const std::vector<double>& sizes, const std::vector<double>& values) {
  const auto x = logs_of(sizes), y = logs_of(values);
  const double steep = slope(x, y);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(y[i] - mean(y) - steep * (x[i] - mean(x))));
  return std::exp(largest);
}

Estimate growth_exponent(const std::vector<SizedSamples>& points, double level) {
  std::map<std::pair<int, int>, std::vector<double>> times;  // of a block, by size
  std::vector<double> sizes;
  for (const auto& point : points) {
    sizes.push_back(point.size);
    for (const auto& sample : point.samples) times[{sample.process, sample.block}].push_back(sample.time_ns);
  }
  // e to the slope is the ratio of two times whose sizes differ by the factor e.
  std::vector<Sample> above, below;
  for (const auto& [cell, of_block] : times) {
    if (of_block.size() != sizes.size()) continue;
    above.push_back({cell.first, cell.second, std::exp(log_slope(sizes, of_block)), 1});
    below.push_back({cell.first, cell.second, 1.0, 1});
  }
  Estimate estimate = paired_ratio(above, below, level);
  estimate.value = std::log(estimate.value);
  if (estimate.interval)
    estimate.interval = Interval{std::log(estimate.interval->low), std::log(estimate.interval->high)};
  return estimate;
}

}  // namespace ampgate::results
