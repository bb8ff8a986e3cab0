// What is known of the operator that a case file calls: the same as where a model calls it.
#pragma once

#include "cases/case.h"
#include "cases/operator_call.h"
#include "validate/bounds.h"

namespace ampgate::validate::local {

// E of the call's output number `output`: by the operator's family where an adapter knows it, else by the
// reduction length that the case gives, else by the error ratio. `context.inputs` are the case's tensors.
// Throws as error_bound does.
Bound call_bound(const cases::OperatorCall& call, const BoundContext& context, std::size_t output);

// The case with the family itself in its facts, where the operator's tensors are the family's operands as
// they stand: then exact integers, every value of a type and edge patterns are tried as for built-in cases.
// An operator of no known family that is made of others, on finite values, is judged as a model is: by what
// its parts round. Else the case as it is.
cases::Case with_family(cases::Case definition, const cases::Shape& shape);

}  // namespace ampgate::validate::local
