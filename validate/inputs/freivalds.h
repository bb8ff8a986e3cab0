// Freivalds' check of a product without computing it (Information Processing 77, 839 to 842): where an output
// is linear in one operand, contracting that operand with a vector r contracts the output with r. On integers
// both sides are exact in FP64, and a single wrong element is always seen.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

// An axis of an inner product along which one multiplied operand, and all that is added, are sliced: along it
// the output is linear in what is sliced. Null when there is none.
const cases::IndependentAxis* linear_axis(const cases::Facts& facts, const cases::State& state);

// Position of a line (all along `axis`) of `output` that differs from the product's, -1 along the axis; none
// when all agree. `inputs` hold integers whose sums of magnitudes stay within `limit`; `output` may have any
// floating type. Two seeded vectors of odd integers: several wrong elements of one line that cancel under one
// of them, 1 in 500 or rarer, must cancel under the other as well.
std::optional<std::vector<std::int64_t>> wrong_line(const cases::Case& definition,
                                                    const cases::IndependentAxis& axis,
                                                    const cases::State& inputs, const at::Tensor& output,
                                                    double limit, std::uint64_t seed);

}  // namespace ampgate::validate
