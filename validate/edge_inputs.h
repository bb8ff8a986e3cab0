// Zeros, subnormals, very large values, NaN and infinities: what an operator does with them is a finding
// about the operator, never the verdict of a trial.
#pragma once

#include <optional>
#include <vector>

#include "cases/case.h"
#include "precision/precision.h"
#include "validate/judgement.h"
#include "validate/session.h"

namespace ampgate::validate {

// The shape on which edge inputs are tried: the first of the case's suite `smoke`; none when it has no such
// suite.
std::optional<cases::Shape> edge_shape(const cases::Case& definition);

// One finding for each kind of input that this precision does not treat as its rounded oracle does.
std::vector<Finding> edge_findings(const Session& session, const cases::Case& definition,
                                   const cases::Shape& shape, const precision::Precision& precision);

}  // namespace ampgate::validate
