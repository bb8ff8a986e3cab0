// Judges an operator's outputs by the bound of its family, or by the error ratio where there is no bound.
#pragma once

#include <vector>

#include "cases/case.h"
#include "results/rules.h"
#include "validate/judgement.h"
#include "validate/reference.h"

namespace ampgate::validate {

// `outputs` are the parts that the references' samples select; `references[i]` is what part i is judged
// against. kernel_error describes the output with the largest
// margin.
Judgement judge_operator(const results::Rules& rules, const cases::Case& definition,
                         const cases::Outputs& outputs, const std::vector<Reference>& references);

}  // namespace ampgate::validate
