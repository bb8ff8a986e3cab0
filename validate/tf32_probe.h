// Does FP32 mean FP32 on this device? A product by one, whose operand has more bits than TF32 or BF16 keeps.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

#include "validate/session.h"

namespace ampgate::validate {

// FP32 operators as a baseline would call them: (m, k) by (k, n), and (N, C, H, W) with (O, C, 1, 1).
struct Fp32Operators {
  std::function<at::Tensor(const at::Tensor& a, const at::Tensor& b)> matmul;
  std::function<at::Tensor(const at::Tensor& input, const at::Tensor& weight)> convolution;
};

// 1 + 2^-11 + 2^-12 times 1 is exact in FP32; TF32 gives 1 where it truncates and 1 + 2^-10 where it rounds,
// BF16 gives 1. Libraries switch kernels by shape and layout, so several sizes are tried, both operands
// transposed and not. Empty when all is FP32; else what was found, and for which operator and sizes.
std::string find_lowered_fp32(const Fp32Operators& operators, c10::Device device);

// The same for LibTorch's own operators on the session's device, under the baseline's numerics.
std::string find_lowered_fp32(const backends::Backend& backend);

}  // namespace ampgate::validate
