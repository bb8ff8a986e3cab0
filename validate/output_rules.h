// Criteria that the rules give to single outputs, beside each output's own: docs/rules.md.
#pragma once

#include <string>

#include "results/rules.h"
#include "validate/compare.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// Why the rules want nobody to look at this output; empty when it is judged.
std::string why_ignored(const results::Rules& rules, const std::string& case_name, const std::string& output);

// Applies `max_margin` to what this output's own criterion said: stricter below 1, `suspect` instead of
// `inaccurate` up to a limit above 1.
void judge_margin(const results::Rules& rules, const std::string& case_name, const std::string& output,
                  double margin, Judgement& own);

// `quality-lost` by `max_relative_rms` and `max_abs_error`.
void judge_cost(const results::Rules& rules, const std::string& case_name, const std::string& output,
                const Cost& cost, Judgement& judgement);

}  // namespace ampgate::validate
