// Edge inputs: zeros, subnormals, huge and non-finite values, constant and sorted rows, long reductions, no
// elements, other layouts. They judge the operator and give findings; they never decide a trial.
#pragma once

#include <string>
#include <vector>

#include "cases/case.h"
#include "precision/precision.h"
#include "validate/judgement.h"
#include "validate/session.h"

namespace ampgate::validate {

struct EdgeFinding {
  Finding finding;
  std::string shape;
};

// One finding for each kind of input that this precision does not treat as its rounded oracle does. What only
// another order of summation explains is none, and neither is what no bound can judge. Of a model: the scale
// of its inputs from which on it gives NaN or infinity.
std::vector<EdgeFinding> edge_findings(const Session& session, const cases::Case& definition,
                                       const precision::Precision& precision);

}  // namespace ampgate::validate
