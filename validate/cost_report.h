// The second of the two questions about a trial: what does this precision do to the result, whoever is to
// blame? Reported; quality and decisions judge it.
#pragma once

#include "validate/case_setup.h"
#include "validate/criterion.h"
#include "validate/judgement.h"

namespace ampgate::validate {

// The object `precision_cost`, of the output that this precision hits most, against the FP32 baseline; null
// when no floating output can be compared.
// Its bound is what right kernels may differ by: |y_t - y| + E_t + E_b + u32 |y|, y and y_t the oracles on
// the original inputs and on those that the trial saw, E_t and E_b the bounds of trial and baseline; the
// triangle inequality between baseline, y, y_t and the output. Worsens the judgement where NaN and infinity
// differ from the baseline's: a value that only this precision loses makes the result unusable, however right
// the kernel is.
results::Json report_cost(CaseSetup& setup, const Criterion& criterion, const cases::Outputs& outputs,
                          const cases::Outputs& baseline, Judgement& judgement);

}  // namespace ampgate::validate
