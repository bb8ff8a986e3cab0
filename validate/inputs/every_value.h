// Functions of one element on every value of a 16-bit type, and on a seeded sample of FP32 bit patterns.
#pragma once

#include "validate/case_setup.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// Values up to 2^64 in magnitude whose result the output's type can hold decide the trial: all finite ones of
// FP16. What goes wrong on the others (infinities, NaN, huge values) is a finding. Returns {"type", "values", "decided",
// "rejected", "margin"} for records, or a string that says why there is no such check.
results::Json judge_every_value(const CaseSetup& setup, const precision::Precision& precision,
                                Judgement& judgement);

}  // namespace ampgate::validate
