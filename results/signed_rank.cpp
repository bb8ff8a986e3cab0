#include "results/signed_rank.h"

#include <algorithm>
#include <stdexcept>

#include "results/series.h"

namespace ampgate::results {
namespace {

std::vector<double> walsh_averages(const std::vector<double>& values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) averages.push_back(values[i] / 2 + values[j] / 2);
  }
  return averages;
}

// How many of the smallest sums of ranks have together a probability of at most `tail`, where each of the
// ranks 1 to n is added or not by the toss of a coin.
std::size_t rejected_sums(std::size_t n, double tail) {
  std::vector<double> probability{1.0};
  for (std::size_t rank = 1; rank <= n; ++rank) {
    std::vector<double> next(probability.size() + rank, 0.0);
    for (std::size_t sum = 0; sum < probability.size(); ++sum) {
      next[sum] += probability[sum] / 2;
      next[sum + rank] += probability[sum] / 2;
    }
    probability = std::move(next);
  }
  std::size_t count = 0;
  double together = 0;
  while (count < probability.size() && together + probability[count] <= tail)
    together += probability[count++];
  return count;
}

}  // namespace

double signed_rank_centre(const std::vector<double>& values) { return median(walsh_averages(values)); }

std::optional<Interval> signed_rank_interval(const std::vector<double>& values, double level) {
  if (!(level > 0 && level < 1)) throw std::invalid_argument("a level must lie inside (0, 1)");
  const std::size_t rejected = rejected_sums(values.size(), (1 - level) / 2);
  if (rejected == 0) return std::nullopt;
  auto averages = walsh_averages(values);
  std::sort(averages.begin(), averages.end());
  return Interval{averages[rejected - 1], averages[averages.size() - rejected]};
}

}  // namespace ampgate::results
