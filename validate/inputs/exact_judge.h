// A trial on exact-integer inputs: ordinary inputs on which nothing but the right result is accepted.
#pragma once

#include "validate/case_setup.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// Worsens the verdict where the result is wrong. Returns {"check", "elements", "limit", "equal"} for records,
// or, where the operator has no such inputs, a string that says why.
results::Json judge_exact_integers(const CaseSetup& setup, const precision::Precision& precision,
                                   Judgement& judgement);

}  // namespace ampgate::validate
