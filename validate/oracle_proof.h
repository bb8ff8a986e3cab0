// Is the oracle of an operator that a library of the user's brought one? Its FP64 kernel is no more trusted
// than the others: it is often the same template, with the same fault.
#pragma once

#include "cases/case.h"

namespace ampgate::validate {

// Runs `unproven` on guarded memory. Throws CaseFault when it reaches beyond its tensors.
void check_reach_in_fp64(const cases::Case& definition, const cases::State& original);

// Throws CaseFault when `unproven`
// - gives something else than `oracle`, where that is from another source;
// - moves in steps: it answers to inputs changed by 2^-4, and not in proportion to inputs changed by 2^-30 and
//   2^-34, so that it computes in fewer digits;
// - has gradients that are not those of its results.
void check_fp64(const cases::Case& definition, const cases::State& original, const cases::Outputs& oracle);

}  // namespace ampgate::validate
