// Slices along an independent axis: the inputs of some rows of the outputs, and those rows themselves.
#pragma once

#include "cases/case.h"

namespace ampgate::cases {

// `positions`: int64 along the axis, in any order, on the state's device. The tensors that the axis names are
// copied, in their own layout, the others shared. Throws std::out_of_range when the axis names a tensor that
// is not there.
State select(const State& state, const IndependentAxis& axis, const at::Tensor& positions);
at::Tensor select(const at::Tensor& output, const IndependentAxis& axis, const at::Tensor& positions);

// What `part`, the sizes of an output of one position along each independent axis, is in a run of all of
// them.
std::vector<std::int64_t> whole_sizes(at::IntArrayRef part, const Facts& facts, const State& whole);

}  // namespace ampgate::cases
