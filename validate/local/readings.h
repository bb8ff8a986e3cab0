// What a call may rightly be taken to mean: kernels read numbers among their arguments in a type of their
// own, and what a few operators give depends on the type of their tensors.
#pragma once

#include <vector>

#include "cases/case.h"
#include "cases/operator_call.h"

namespace ampgate::validate::local {

struct Reading {
  // The same operator with arguments as such a kernel reads them.
  cases::OperatorCall call;
  // Its outputs in FP64 for tensors in FP64.
  std::function<cases::Outputs(const cases::State&)> evaluate;
};

// Beside `call` as it stands: what kernels do that take their tensors in `type`. Mostly none.
std::vector<Reading> other_readings(const cases::OperatorCall& call, c10::ScalarType type);

}  // namespace ampgate::validate::local
