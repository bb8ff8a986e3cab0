// Tests the tolerance itself: wrong results that it must refuse. One that passes makes the whole check
// worthless.
#pragma once

#include <functional>
#include <string>

#include "cases/case.h"

namespace ampgate::validate {

// Tries, on each output, the rounded oracle as all zeros, as one constant, shifted by one element and with
// its rows permuted. `rounded` are right outputs in their own types on the CPU; `accepts` judges a set of
// outputs. A mutant that equals the right output (scalars, constants, zeros) is not applicable. Returns the
// first mutant that was accepted, in words, or an empty string.
std::string surviving_mutant(const cases::Outputs& rounded, const cases::Case& definition,
                             const std::function<bool(const cases::Outputs&)>& accepts);

}  // namespace ampgate::validate
