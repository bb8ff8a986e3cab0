// Inputs that are designed so that one result is right, and that decide a trial beside the ordinary ones:
// exact integers, and every value of a type for functions of one element.
#pragma once

#include "validate/case_setup.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// Adds `exact_integers` and `every_value` to `accuracy`, or to `absent` with the reason.
void judge_designed_inputs(const CaseSetup& setup, const precision::Precision& precision,
                           results::Json& accuracy, results::Json& absent, Judgement& judgement);

}  // namespace ampgate::validate
