// Shapes at the edges: long reductions, single elements, none at all.
#pragma once

#include <optional>
#include <vector>

#include "cases/case.h"

namespace ampgate::validate {

// The shape on which edge inputs are tried: the first of the case's suite `smoke`, else the cheapest of all
// its suites, by the product of its dimensions; none when that is above 2^24.
std::optional<cases::Shape> edge_shape(const cases::Case& definition);

// A small shape with one dimension so long that a result adds up about 32768 terms, fewer where that would
// take more than 10^8 flops; none when the case adds up nothing.
std::optional<cases::Shape> long_shape(const cases::Case& definition);

// All dimensions 1.
cases::Shape single_shape(const cases::Case& definition);

// That shape with each dimension in turn 0.
std::vector<cases::Shape> empty_shapes(const cases::Case& definition);

}  // namespace ampgate::validate
