// Rounding inside sums and inner products: how far FP32 accumulation moves a result before it is rounded to
// its own type.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <optional>

namespace ampgate::validate {

// The standard deviation, element by element, of the accumulation error of an operator that adds up (linear,
// matmul, addmm and their relatives, convolutions, attention; sum, mean, cumsum, index_add, scatter_add) in
// FP64; none for LibTorch's other operators but those below. `arguments` are the operator's, `result` its
// output number `number`, `type` the type the trial gave it in:
//   0.42 u32 T,  T^2 = K y^2 / 3 + max(K Q - y^2, 0) / 6 + Q,  Q the sum of the squared products, K their
//   number.
// T is the root sum of squares of the partial sums of random terms; 0.42 was measured on correct kernels
// (0.38 to 0.43). Without products the last Q is not there; index_add and scatter_add keep their sums in
// `type`. Attention takes its probabilities p in `type`, which adds 0.42 u sqrt(sum p^2 v^2).
// Of operators that are not LibTorch's, and of LibTorch's others that take far more elements than they give,
// nobody knows what they add up: K is the number of elements that they read for one of the result, and Q
// u32^2 what inputs that are off by u32 do to it.
std::optional<at::Tensor> accumulation_deviation(const c10::OperatorHandle& op,
                                                 const torch::jit::Stack& arguments, const at::Tensor& result,
                                                 std::size_t number, c10::ScalarType type);

// Is it one of these operators?
bool adds_up(const c10::OperatorHandle& op);

}  // namespace ampgate::validate
