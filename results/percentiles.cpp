#include "results/percentiles.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ampgate::results {
namespace {

constexpr double kBeyondInAll = 10;
constexpr double kBeyondInUnit = 2;

void check(const Series& times_ns, double level) {
  if (!(level > 0 && level < 1)) throw std::invalid_argument("a level must lie inside (0, 1)");
  if (times_ns.empty()) throw std::invalid_argument("no calls");
  for (const auto& of_process : times_ns) {
    if (of_process.empty()) throw std::invalid_argument("a process without calls");
    for (const double time : of_process) {
      if (!(time > 0) || !std::isfinite(time)) {
        throw std::invalid_argument("a time must be finite and positive, is " + std::to_string(time) + " ns");
      }
    }
  }
}

// How many values there must be for `beyond` of them to lie beyond the percentile, on its thinner side.
std::size_t values_for(double probability, double beyond) {
  // Less than half a value of rounding: 2 / (1 - 0.99) is 200 and not 201.
  return static_cast<std::size_t>(std::ceil(beyond / std::min(probability, 1 - probability) - 1e-6));
}

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> ascending(values.begin(), values.end());
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

void add_interval(Percentile& result, const Series& times_ns, double level) {
  const auto parts = units(times_ns);
  const std::size_t needed = values_for(result.probability, kBeyondInUnit);
  std::vector<double> logs;
  for (const auto part : parts) {
    if (part.size() < needed || parts.size() < 2) {
      result.method = "no interval: " + std::to_string(part.size()) + " calls in a " +
                      (times_ns.size() == 1 ? "stretch of the one process" : "process") + ", at least " +
                      std::to_string(needed) + " are needed";
      return;
    }
    logs.push_back(std::log(quantile(sorted(part), result.probability)));
  }
  Bracket bracket = bracket_by_units(times_ns, *result.time_ns, logs, "percentiles", level);
  result.interval = bracket.interval;
  result.method = std::move(bracket.method);
}

}  // namespace

double quantile(std::span<const double> ascending, double probability) {
  const auto n = static_cast<double>(ascending.size());
  const double rank = std::clamp((n + 1.0 / 3) * probability + 1.0 / 3, 1.0, n);
  const auto below = static_cast<std::size_t>(rank);
  const double value = ascending[below - 1];
  if (below == ascending.size()) return value;
  return value + (rank - static_cast<double>(below)) * (ascending[below] - value);
}

Percentile percentile(const Series& times_ns, double probability, double level) {
  check(times_ns, level);
  if (!(probability > 0 && probability < 1)) {
    throw std::invalid_argument("the probability of a percentile must lie inside (0, 1)");
  }
  Percentile result;
  result.probability = probability;
  const auto all = sorted(pooled(times_ns));
  const std::size_t needed = values_for(probability, kBeyondInAll);
  if (all.size() < needed) {
    result.method = std::to_string(all.size()) + " calls, at least " + std::to_string(needed) + " are needed";
    return result;
  }
  result.time_ns = quantile(all, probability);
  add_interval(result, times_ns, level);
  return result;
}

Latency latency(const Series& times_ns, double level) {
  check(times_ns, level);
  const auto all = pooled(times_ns);
  const auto [low, high] = std::minmax_element(all.begin(), all.end());
  Latency result;
  result.min_ns = *low;
  result.max_ns = *high;
  result.calls = static_cast<int>(all.size());
  result.processes = static_cast<int>(times_ns.size());
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    result.percentiles[i] = percentile(times_ns, kPercentiles[i], level);
  }
  return result;
}

}  // namespace ampgate::results
