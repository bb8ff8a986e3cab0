#include "results/noninferiority.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "results/series.h"

namespace ampgate::results {

std::string_view to_string(NonInferiority outcome) {
  if (outcome == NonInferiority::kShown) return "no worse";
  return outcome == NonInferiority::kWorse ? "worse" : "open";
}

NonInferiorityTest test_noninferiority(const std::vector<double>& losses, double margin) {
  if (losses.empty() || !(margin >= 0) ||
      std::any_of(losses.begin(), losses.end(), [](double loss) { return !std::isfinite(loss); })) {
    throw std::invalid_argument("non-inferiority needs losses that are finite, and a margin");
  }
  NonInferiorityTest test;
  test.mean_loss = mean(losses);
  if (losses.size() < 2) return test;
  constexpr double kTwoSided = 0.90;  // 5 % on either side
  const Interval interval = student_interval(losses, kTwoSided);
  test.lower = interval.low;
  test.upper = interval.high;
  double squares = 0;
  for (const double loss : losses) squares += (loss - test.mean_loss) * (loss - test.mean_loss);
  test.deviation = std::sqrt(squares / static_cast<double>(losses.size() - 1));
  const bool enough = losses.size() >= kLeastSeeds;
  if (enough && interval.high <= margin) {
    test.outcome = NonInferiority::kShown;
  } else if (enough && interval.low > margin) {
    test.outcome = NonInferiority::kWorse;
  } else if (const double room = margin - test.mean_loss; room > 0) {
    const double wanted = std::ceil(6.2 * std::pow(test.deviation / room, 2));
    const auto least = static_cast<double>(std::max(kLeastSeeds, losses.size() + 1));
    test.seeds_wanted = static_cast<int>(std::clamp(wanted, least, 1e9));
  }
  return test;
}

}  // namespace ampgate::results
