// Is one way of training no worse than another by more than a margin? Paired over seeds, one-sided.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace ampgate::results {

enum class NonInferiority { kShown, kWorse, kOpen };
std::string_view to_string(NonInferiority outcome);  // "no worse", "worse", "open"

struct NonInferiorityTest {
  NonInferiority outcome = NonInferiority::kOpen;
  double mean_loss = 0;         // of quality; positive: worse than the baseline
  double deviation = 0;         // standard deviation over the seeds
  std::optional<double> lower;  // one-sided 95 % limits of the mean loss; absent with one seed
  std::optional<double> upper;
  // Where it is open: seeds at which this mean loss is told from the margin with 80 % power and 5 % error,
  // about 6.2 (sd / (margin - mean))^2, at least kLeastSeeds, and more than there were. Absent with one seed,
  // and where the mean itself lies beyond the margin.
  std::optional<int> seeds_wanted;
};

// Two seeds may agree by chance: their deviation is no estimate.
inline constexpr std::size_t kLeastSeeds = 3;

// `losses`: of quality, by seed, in the margin's unit. Shown: the upper limit lies within the margin; worse:
// the lower one lies beyond it; else, and with fewer than kLeastSeeds, open. Throws std::invalid_argument for
// no losses, one that is not finite, or a margin that is negative.
NonInferiorityTest test_noninferiority(const std::vector<double>& losses, double margin);

}  // namespace ampgate::results
