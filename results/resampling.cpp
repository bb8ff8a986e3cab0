#include "results/resampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "results/student_t.h"

namespace ampgate::results {
namespace {

constexpr int kResamples = 2000;
constexpr double kIndependent = 0.1;

// SplitMix64 (Steele, Lea and Flood 2014): our own, so that a seed gives the same interval with every
// standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(((next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::size_t groups_in(std::size_t values, std::size_t size) {
  return std::max<std::size_t>(1, values / size);
}

std::span<const double> group(const std::vector<double>& values, std::size_t size, std::size_t index) {
  const bool last = index + 1 == groups_in(values.size(), size);
  return std::span(values).subspan(index * size, last ? std::dynamic_extent : size);
}

Series group_means(const Series& series, std::size_t size) {
  Series means;
  for (const auto& values : series) {
    auto& of_process = means.emplace_back();
    for (std::size_t i = 0; i < groups_in(values.size(), size); ++i) {
      of_process.push_back(mean(group(values, size, i)));
    }
  }
  return means;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
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

std::size_t group_size(const Series& series) {
  std::size_t size = 1;
  while (lag1_autocorrelation(group_means(series, size)) >= kIndependent) ++size;
  return size;
}

std::size_t count_groups(const Series& series, std::size_t size) {
  std::size_t count = 0;
  for (const auto& values : series) count += groups_in(values.size(), size);
  return count;
}

Interval bootstrap_median(const Series& series, std::size_t size, double level, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> medians;
  medians.reserve(kResamples);
  std::vector<double> drawn;
  for (int resample = 0; resample < kResamples; ++resample) {
    drawn.clear();
    for (std::size_t i = 0; i < series.size(); ++i) {
      const auto& values = series[random.below(series.size())];
      const std::size_t groups = groups_in(values.size(), size);
      for (std::size_t j = 0; j < groups; ++j) {
        const auto picked = group(values, size, random.below(groups));
        drawn.insert(drawn.end(), picked.begin(), picked.end());
      }
    }
    medians.push_back(median(drawn));
  }
  std::sort(medians.begin(), medians.end());
  // The same rank from either end, so that the interval of a reciprocal is the reciprocal interval.
  const auto rank = static_cast<std::size_t>((1 - level) / 2 * kResamples);
  return {medians[rank], medians[medians.size() - 1 - rank]};
}

std::vector<double> unit_medians(const Series& series, std::size_t size) {
  std::vector<double> medians;
  for (const auto& values : series) {
    const std::size_t units = series.size() > 1 ? 1 : groups_in(values.size(), size);
    for (std::size_t i = 0; i < units; ++i) {
      const auto unit = units == 1 ? std::span(values) : group(values, size, i);
      medians.push_back(median({unit.begin(), unit.end()}));
    }
  }
  return medians;
}

Interval student_interval(const std::vector<double>& values, double level) {
  const double centre = mean(values);
  const double n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  const double half =
      student_t(level, static_cast<int>(values.size()) - 1) * std::sqrt(squares / (n - 1) / n);
  return {centre - half, centre + half};
}

}  // namespace ampgate::results
