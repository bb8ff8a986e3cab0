// The comparator's one pass over an output, its oracle and the bound: counts, errors, worst element and
// digest. Threads share out units of elements, whose sums are merged in order: the result does not depend on
// their number.
#pragma once

#include "backends/kernels/hash.h"
#include "backends/kernels/judge.h"
#include "validate/elements.h"

namespace ampgate::validate {

struct Operands {
  Elements out;
  Elements y;
  Elements error;
  const Elements* hard;     // null: there is no hard bound
  std::int64_t row_length;  // of the rows that have a scale of their own; the number of elements: one for all
};

struct ComparisonSums {
  backends::judge::Counts counts;
  backends::judge::Errors errors;
  backends::hash::Lanes lanes;   // the digest's sum over `out`
  std::int64_t largest_at = -1;  // the first element with the largest error; -1: no error
};

// `ill_conditioned` is the share of a row's RMS above which E says nothing.
ComparisonSums compare_elements(const Operands& operands, const backends::judge::Rule& rule,
                                double ill_conditioned);

}  // namespace ampgate::validate
