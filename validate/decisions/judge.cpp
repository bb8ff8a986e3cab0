#include "validate/decisions/judge.h"

#include <algorithm>

#include "validate/text.h"

namespace ampgate::validate {

using results::Verdict;

namespace {

// "row 7 went from 3 to 8 over a margin of 0.5, rounding explains up to 0.1"
std::string example(const DecisionComparison& compared, const Flip& flip, const cases::Decisions& rule) {
  const auto row = static_cast<std::size_t>(flip.row);
  return "row " + std::to_string(flip.row) + " went from " +
         results::to_text(decision_json(compared.before[row], rule)) + " to " +
         results::to_text(decision_json(compared.after[row], rule)) + " over a margin of " +
         text(flip.margin) + ", rounding explains up to " + text(flip.allowed);
}

// The flip of this effect with the largest margin; of any effect when none is named.
const Flip& widest(const std::vector<Flip>& flips, const Effect* effect) {
  return *std::max_element(flips.begin(), flips.end(), [&](const Flip& a, const Flip& b) {
    const auto weight = [&](const Flip& flip) {
      const bool counts = effect == nullptr ? flip.effect != Effect::kLost : flip.effect == *effect;
      return counts ? flip.margin : -1.0;
    };
    return weight(a) < weight(b);
  });
}

}  // namespace

void judge_flips(const results::Rules::FlipLimits& limits, const DecisionComparison& compared,
                 std::int64_t rows, const std::string& where, const cases::Decisions& rule,
                 Judgement& judgement) {
  const FlipCounts counts = count(compared.flips);
  if (counts.lost > 0) {
    const Flip& first = *std::find_if(compared.flips.begin(), compared.flips.end(),
                                      [](const Flip& flip) { return flip.effect == Effect::kLost; });
    judgement.worsen(Verdict::kNonfinite, std::to_string(counts.lost) + " of " + std::to_string(rows) +
                                              " rows on " + where +
                                              " have no decision, since a score is NaN; the first is row " +
                                              std::to_string(first.row));
  }
  const auto check = [&](std::int64_t number, double allowed, const Effect* effect, const std::string& what) {
    if (rows == 0 || !(static_cast<double>(number) / static_cast<double>(rows) > allowed)) return;
    judgement.worsen(Verdict::kDecisionChanged, std::to_string(number) + " of " + std::to_string(rows) +
                                                    " decisions on " + where + " changed" + what + "; " +
                                                    example(compared, widest(compared.flips, effect), rule) +
                                                    "; allowed share " + text(allowed));
  };
  constexpr Effect kDefect = Effect::kDefect, kTie = Effect::kTieCollapse, kExplained = Effect::kExplained;
  check(counts.defects, limits.defect, &kDefect, " without rounding explaining it");
  check(counts.tie_collapses, limits.tie_collapse, &kTie, " because their scores became equal");
  check(counts.explained, limits.explained, &kExplained, " by rounding");
  check(counts.flips, limits.flips, nullptr, "");
}

}  // namespace ampgate::validate
