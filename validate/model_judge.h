// Judges a model's outputs: masks first, then the root-mean-square error against what the replay predicts.
#pragma once

#include "cases/case.h"
#include "results/rules.h"
#include "validate/bounds.h"
#include "validate/judgement.h"
#include "validate/replay.h"

namespace ampgate::validate {

Judgement judge_model(const results::Rules& rules, const cases::Case& definition,
                      const cases::Outputs& outputs, const cases::Outputs& oracle, const Replay& prediction);

// How far one element of a right output may be from the oracle, for the positions that phase 2 checks again:
// eight times the replay's deviation there, or that of the whole output where it is larger, since few runs
// estimate a single element's deviation badly.
Bound replay_bound(const Replay& prediction, std::size_t output);

}  // namespace ampgate::validate
