// Inputs of small integers, sparse where sums are long, such that every partial sum and every output is an
// integer that the output's type holds: whatever the order of summation, one result is right and no rounding
// excuses another.
#pragma once

#include <string>

#include "cases/case.h"
#include "precision/precision.h"

namespace ampgate::validate {

struct ExactIntegers {
  cases::State state;   // FP32; empty where there are none
  std::string why_not;  // the reason
  double limit = 0.0;   // no sum of magnitudes exceeds it: 2^11 for FP16, 2^8 for BF16, 2^24 for FP32
};

// For the sizes of `like`, whose other tensors (indices, masks) are kept. None for families that round on
// integers as well (quotients, roots, exponentials) or on nothing (copies), and where the case computes
// something else than its family says (a scaled product): a slice is tried in FP64.
ExactIntegers exact_integers(const cases::Case& definition, const cases::Facts& facts,
                             const cases::State& like, const precision::Precision& precision,
                             std::uint64_t seed);

}  // namespace ampgate::validate
