// Arrangements of ordinary values that are hard on sums and normalisations.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

enum class Pattern {
  kConstant,      // all values that meet in one result are equal
  kSorted,        // they ascend, and what they are multiplied with is positive: partial sums keep growing
  kFarMean,       // a mean of 100 standard deviations
  kCancellation,  // the second half takes back the first but for a thousandth
};

std::string_view pattern_name(Pattern pattern);
const std::vector<Pattern>& all_patterns();

// The state with its data operands (operands.h) arranged; none where no values meet, or where the operator
// does not simply add them up (cancellation).
std::optional<cases::State> arranged(const cases::BoundSpec& bound, const cases::State& ordinary,
                                     Pattern pattern);

}  // namespace ampgate::validate
