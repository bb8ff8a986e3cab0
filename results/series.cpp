#include "results/series.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "results/student_t.h"

namespace ampgate::results {
namespace {

// Square of the standard error of the mean.
double squared_error(const std::vector<double>& values) {
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  const auto n = static_cast<double>(values.size());
  return squares / (n - 1) / n;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> pooled(const Series& series) {
  std::vector<double> values;
  for (const auto& of_process : series) values.insert(values.end(), of_process.begin(), of_process.end());
  return values;
}

std::vector<std::span<const double>> units(const Series& series) {
  if (series.size() > 1) return {series.begin(), series.end()};
  std::vector<std::span<const double>> stretches;
  if (series.empty()) return stretches;
  const std::span<const double> values = series.front();
  const std::size_t count = std::min(kStretches, values.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * values.size() / count;
    stretches.push_back(values.subspan(begin, (i + 1) * values.size() / count - begin));
  }
  return stretches;
}

Interval student_interval(const std::vector<double>& values, double level) {
  const double centre = mean(values);
  const double half =
      student_t(level, static_cast<double>(values.size()) - 1) * std::sqrt(squared_error(values));
  return {centre - half, centre + half};
}

Interval welch_interval(const std::vector<double>& a, const std::vector<double>& b, double level) {
  const double centre = mean(a) - mean(b);
  const double of_a = squared_error(a);
  const double of_b = squared_error(b);
  const double square = of_a + of_b;
  if (!(square > 0)) return {centre, centre};
  const double degrees =
      square * square /
      (of_a * of_a / (static_cast<double>(a.size()) - 1) + of_b * of_b / (static_cast<double>(b.size()) - 1));
  const double half = student_t(level, std::max(degrees, 1.0)) * std::sqrt(square);
  return {centre - half, centre + half};
}

Bracket bracket(double value, const Interval& logs, const std::string& method) {
  const Interval interval{std::min(std::exp(logs.low), value), std::max(std::exp(logs.high), value)};
  if (interval.low > 0 && std::isfinite(interval.high)) return {interval, method};
  return {std::nullopt, "no interval: the processes are too few for how far they lie apart"};
}

Bracket bracket_by_units(const Series& series, double value, const std::vector<double>& logs,
                         const std::string& what, double level) {
  std::string method = "Student's t over the " + what + " of ";
  method += series.size() > 1 ? "processes (log scale)"
                              : std::to_string(logs.size()) +
                                    " stretches of the one process (log scale); the spread between processes "
                                    "is not in it";
  return bracket(value, student_interval(logs, level), method);
}

}  // namespace ampgate::results
