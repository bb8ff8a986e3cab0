// What the rules say about changed decisions.
#pragma once

#include <cstdint>
#include <string>

#include "results/rules.h"
#include "validate/decisions/flips.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// `nonfinite` where a decision was lost to a NaN; `decision-changed` when the share of one kind of flips, or
// of all, among `rows` is above its limit. `where` names the rows in the reason.
void judge_flips(const results::Rules::FlipLimits& limits, const DecisionComparison& compared,
                 std::int64_t rows, const std::string& where, const cases::Decisions& rule,
                 Judgement& judgement);

}  // namespace ampgate::validate
