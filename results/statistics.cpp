#include "results/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "results/series.h"
#include "results/signed_rank.h"
#include "results/trend.h"

namespace ampgate::results {
namespace {

constexpr int kFewestBlocks = 6;

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

double deviation(std::vector<double> values, double centre) {
  for (double& value : values) value = std::abs(value - centre);
  return median(std::move(values));
}

std::vector<double> unit_medians(const Series& series) {
  std::vector<double> medians;
  for (const auto unit : units(series)) medians.push_back(median({unit.begin(), unit.end()}));
  return medians;
}

void check_level(double level) {
  if (!(level > 0 && level < 1)) throw std::invalid_argument("a level must lie inside (0, 1)");
}

Estimate counted(const Series& series) {
  if (series.empty()) throw std::invalid_argument("no samples");
  Estimate estimate;
  estimate.processes = static_cast<int>(series.size());
  estimate.samples = static_cast<int>(pooled(series).size());
  return estimate;
}

std::string too_few(int blocks) {
  return "no interval: " + std::to_string(blocks) + " blocks, at least " + std::to_string(kFewestBlocks) +
         " are needed";
}

void set(Estimate& estimate, Bracket bracket) {
  estimate.interval = bracket.interval;
  estimate.method = std::move(bracket.method);
}

// Everything but the value's own scale and mad.
//
// Resampling n processes with their blocks whole gives the mean of their medians a standard error of
// s / sqrt(n) times sqrt((n - 1) / n), which is put right (Davison and Hinkley 1997, sections 2.2 and 3.8),
// so nothing needs to be drawn. Blocks are not drawn again inside a process: its median carries their noise
// already, and it would be counted twice. Percentiles of few processes cannot reach past the n medians that
// they saw, which hold the true one between them in 1 - 2^(1-n) of runs (75 % for three); hence Student's t.
Estimate describe(const Series& series, double value, double level) {
  Estimate estimate = counted(series);
  estimate.value = value;
  estimate.lag1 = lag1_autocorrelation(series);
  estimate.lag1_p = lag1_p_value(series);
  estimate.drift = std::expm1(slope_per_block(series));
  estimate.drift_p = drift_p_value(series);
  if (estimate.samples < kFewestBlocks) {
    estimate.method = too_few(estimate.samples);
    return estimate;
  }
  set(estimate, bracket_by_units(series, value, unit_medians(series), "medians", level));
  return estimate;
}

}  // namespace

Estimate median_time(std::span<const Sample> samples, double level) {
  check_level(level);
  const Series series = by_process(logs_by_cell(samples));
  std::vector<double> times;
  for (const Sample& sample : samples) times.push_back(sample.time_ns);
  Estimate estimate = describe(series, times.empty() ? 0 : median(times), level);
  estimate.mad = deviation(std::move(times), estimate.value);
  return estimate;
}

Estimate paired_ratio(std::span<const Sample> numerator, std::span<const Sample> denominator, double level) {
  check_level(level);
  const ByCell above = logs_by_cell(numerator);
  ByCell ratios;
  for (const auto& [cell, log_time] : logs_by_cell(denominator)) {
    if (const auto match = above.find(cell); match != above.end()) ratios[cell] = match->second - log_time;
  }
  const Series series = by_process(ratios);
  const double centre = series.empty() ? 0 : median(pooled(series));
  Estimate estimate = describe(series, std::exp(centre), level);
  estimate.mad = deviation(pooled(series), centre);
  return estimate;
}

Estimate unpaired_ratio(std::span<const Sample> numerator, std::span<const Sample> denominator,
                        double level) {
  check_level(level);
  const Series above = by_process(logs_by_cell(numerator));
  const Series below = by_process(logs_by_cell(denominator));
  Estimate estimate = counted(above);
  const Estimate other = counted(below);
  const int fewer = std::min(estimate.samples, other.samples);
  estimate.samples += other.samples;
  estimate.processes += other.processes;
  estimate.value = std::exp(median(pooled(above)) - median(pooled(below)));
  if (fewer < kFewestBlocks) {
    estimate.method = too_few(fewer);
    return estimate;
  }
  if (above.size() < 2 || below.size() < 2) {
    estimate.method =
        "no interval: one process only on one side, so what differs between processes is unseen";
    return estimate;
  }
  set(estimate, bracket(estimate.value, welch_interval(unit_medians(above), unit_medians(below), level),
                        "Welch's t over the medians of processes (log scale)"));
  return estimate;
}

Estimate turns_ratio(std::span<const Sample> numerator, std::span<const Sample> denominator, double level) {
  check_level(level);
  std::map<int, std::vector<double>> above, below;
  for (const auto& [cell, log_time] : logs_by_cell(numerator)) above[cell.first].push_back(log_time);
  for (const auto& [cell, log_time] : logs_by_cell(denominator)) below[cell.first].push_back(log_time);
  Estimate estimate;
  std::vector<double> differences;
  for (const auto& [turn, times] : above) {
    const auto match = below.find(turn);
    if (match == below.end()) continue;
    differences.push_back(median(times) - median(match->second));
    estimate.samples += static_cast<int>(times.size() + match->second.size());
    estimate.processes += 2;
  }
  if (differences.empty()) throw std::invalid_argument("no samples");
  const double centre = signed_rank_centre(differences);
  estimate.value = std::exp(centre);
  if (differences.size() < 2) {
    estimate.method = "no interval: one turn only, so what differs between processes is unseen";
  } else if (const auto interval = signed_rank_interval(differences, level)) {
    set(estimate,
        bracket(estimate.value, *interval, "Wilcoxon's signed ranks over processes in turns (log scale)"));
  } else {
    set(estimate, bracket(estimate.value, student_interval(differences, level),
                          "Student's t over processes in turns (log scale): " +
                              std::to_string(differences.size()) + " turns are few for signed ranks"));
  }
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
