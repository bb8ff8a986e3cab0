#include "results/trend.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ampgate::results {
namespace {

constexpr std::size_t kFewestOrdered = 3;
constexpr std::size_t kFewestBlocks = 6;

double beyond(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

// The processes that are long enough to have an order; empty where all of them together are too short.
Series ordered(const Series& series) {
  Series result;
  std::size_t blocks = 0;
  for (const auto& values : series) {
    if (values.size() < kFewestOrdered) continue;
    result.push_back(values);
    blocks += values.size();
  }
  return blocks < kFewestBlocks ? Series() : result;
}

Series without_slope(Series series) {
  const double slope = slope_per_block(series);
  for (auto& values : series) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= slope * static_cast<double>(i);
  }
  return series;
}

// How much less n values of this lag-1 correlation say than independent ones: n over their effective number.
double inflation(double lag1, std::size_t n) {
  double sum = 0;
  double power = 1;
  for (std::size_t j = 1; j < n; ++j) {
    power *= lag1;
    sum += (1 - static_cast<double>(j) / static_cast<double>(n)) * power;
  }
  return 1 + 2 * sum;
}

// Ranks less their mean; equal values share theirs.
std::vector<double> centred_ranks(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double value : values) {
    double rank = 0;
    for (const double other : values) rank += other < value ? 0.5 : other > value ? -0.5 : 0.0;
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

double slope_per_block(const Series& series) {
  std::vector<double> slopes;
  for (const auto& values : series) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = i + 1; j < values.size(); ++j) {
        slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
      }
    }
  }
  return slopes.empty() ? 0 : median(std::move(slopes));
}

double lag1_autocorrelation(const Series& series) {
  double products = 0;
  double squares = 0;
  double values_seen = 0;
  double processes_seen = 0;
  for (const auto& values : series) {
    if (values.size() < 2) continue;
    const double centre = mean(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      squares += (values[i] - centre) * (values[i] - centre);
      if (i > 0) products += (values[i] - centre) * (values[i - 1] - centre);
    }
    values_seen += static_cast<double>(values.size());
    processes_seen += 1;
  }
  return squares > 0 ? products / squares + processes_seen / values_seen : 0;
}

std::optional<double> drift_p_value(const Series& series) {
  const Series long_enough = ordered(series);
  if (long_enough.empty()) return std::nullopt;
  const double lag1 = std::clamp(lag1_autocorrelation(without_slope(long_enough)), 0.0, 0.95);
  double score = 0;
  double variance = 0;
  for (const auto& values : long_enough) {
    for (std::size_t j = 1; j < values.size(); ++j) {
      for (std::size_t i = 0; i < j; ++i) score += (values[j] > values[i]) - (values[j] < values[i]);
    }
    const auto n = static_cast<double>(values.size());
    variance += n * (n - 1) * (2 * n + 5) / 18 * inflation(lag1, values.size());
  }
  const double z = std::max(0.0, std::abs(score) - 1) / std::sqrt(variance);
  return std::min(1.0, 2 * beyond(z));
}

std::optional<double> lag1_p_value(const Series& series) {
  const Series long_enough = ordered(series);
  if (long_enough.empty()) return std::nullopt;
  double excess = 0;
  double variance = 0;
  for (const auto& values : without_slope(long_enough)) {
    const auto ranks = centred_ranks(values);
    const auto n = static_cast<double>(ranks.size());
    double products = 0, second = 0, fourth = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i > 0) products += ranks[i] * ranks[i - 1];
      second += ranks[i] * ranks[i];
      fourth += ranks[i] * ranks[i] * ranks[i] * ranks[i];
    }
    // Over all orders: the sum of the n - 1 products, and its square by how many factors two products share.
    const double expected = -second / n;
    const double square = second * second;
    const double both = (square - fourth) / n;
    const double one = 2 * (2 * fourth - square) / (n * (n - 1));
    const double none = (3 * square - 6 * fourth) / (n * (n - 1));
    excess += products - expected;
    variance += both + one + none - expected * expected;
  }
  return variance > 0 ? beyond(excess / std::sqrt(variance)) : 1.0;
}

}  // namespace ampgate::results
