// y[i] = sum over j of gelu(x[i, j] + bias[j]): three operators of LibTorch as one, without the two tensors
// in between. A row is taken in tiles of kTile columns, and what is added up is kept in FP32 for FP16 and
// BF16.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>

namespace example {

inline constexpr int kTile = 64;

// x (rows, columns) and bias (columns), of one floating type, on one device. Throws c10::Error.
void check(const at::Tensor& x, const at::Tensor& bias);

at::Tensor bias_gelu_sum_cpu(const at::Tensor& x, const at::Tensor& bias);
at::Tensor bias_gelu_sum_gpu(const at::Tensor& x, const at::Tensor& bias);

// Gradients by x and bias, given that by y.
using Gradients = std::tuple<at::Tensor, at::Tensor>;
Gradients bias_gelu_sum_backward_cpu(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& bias);
Gradients bias_gelu_sum_backward_gpu(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& bias);

}  // namespace example
