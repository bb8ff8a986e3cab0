// Are the gradients of a trial right, in states of the FP32 training?
#pragma once

#include <vector>

#include "results/rules.h"
#include "validate/judgement.h"
#include "validate/training/shadow.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {

// Steps whose states are shadowed: the first, the last, and others evenly between them.
std::vector<int> shadow_steps(const results::Rules::Training& rules);

// The scale with which the trial makes this step or, where it is skipped, the next one that it makes.
double scale_at(const WatchedRun& trial, std::size_t step);

struct Shadows {
  std::vector<ShadowStep> trial;           // by state
  std::vector<ShadowStep> without_scaler;  // empty where there is none
};

Shadows take_shadows(const TrainingSetup& setup, const Way& way, const WatchedRun& fp32,
                     const WatchedRun& trial);

// One gradient as a whole, against the rules.
void judge_shadow(const results::Rules::Training& rules, const Way& way, const ShadowStep& shadow,
                  Judgement& judgement);

// All of them, as a whole and by parameter. Returns the state, one of fp32's, of the first that fails; null:
// none does.
const cases::Checkpoint* judge_shadows(const results::Rules::Training& rules, const Way& way,
                                       const Shadows& shadows, const WatchedRun& fp32, Judgement& judgement);

results::Json to_json(const Shadows& shadows, const std::vector<std::string>& parameters);

}  // namespace ampgate::validate
