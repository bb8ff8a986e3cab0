// How far a model's inputs may grow before a precision gives NaN or infinity.
#pragma once

#include <optional>

#include "cases/case.h"
#include "precision/precision.h"
#include "validate/judgement.h"
#include "validate/session.h"

namespace ampgate::validate {

// Floating inputs (not weights, not targets) are doubled up to 2^16 times; a finding at the first scale where
// an output is not finite although FP32 could hold the exact one. None when there is no such scale.
std::optional<Finding> headroom_finding(const Session& session, const cases::Case& definition,
                                        const cases::Shape& shape, const precision::Precision& precision);

}  // namespace ampgate::validate
