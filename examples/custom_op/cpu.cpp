// The kernels for CPUs.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bias_gelu_sum.h"
#include "gelu.h"

namespace example {
namespace {

constexpr std::int64_t kRowsAtOnce = 16;  // of a thread

// One lane a column of the tile, so that no sum has more than columns / kTile + kTile terms.
template <typename T>
T row_sum(const T* row, const T* bias, std::int64_t columns) {
  using Real = at::opmath_type<T>;
  std::array<Real, kTile> lanes{};
  for (std::int64_t tile = 0; tile < columns; tile += kTile) {
    const std::int64_t width = std::min<std::int64_t>(kTile, columns - tile);
    for (std::int64_t j = 0; j < width; ++j)
      lanes[j] += gelu(static_cast<Real>(row[tile + j]) + static_cast<Real>(bias[tile + j]));
  }
  Real sum = 0;
  for (const Real lane : lanes) sum += lane;
  return static_cast<T>(sum);
}

template <typename T>
void forward(const at::Tensor& x, const at::Tensor& bias, at::Tensor& y) {
  const std::int64_t columns = x.size(1);
  const T* const in = x.const_data_ptr<T>();
  const T* const add = bias.const_data_ptr<T>();
  T* const out = y.mutable_data_ptr<T>();
  at::parallel_for(0, x.size(0), kRowsAtOnce, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = row_sum(in + i * columns, add, columns);
  });
}

template <typename T>
void backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& bias, at::Tensor& grad_x,
              at::Tensor& grad_bias) {
  using Real = at::opmath_type<T>;
  const std::int64_t rows = x.size(0), columns = x.size(1);
  const T* const from = grad.const_data_ptr<T>();
  const T* const in = x.const_data_ptr<T>();
  const T* const add = bias.const_data_ptr<T>();
  T* const to_x = grad_x.mutable_data_ptr<T>();
  T* const to_bias = grad_bias.mutable_data_ptr<T>();
  at::parallel_for(0, columns, kTile, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Real> sums(end - begin, Real(0));
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = begin; j < end; ++j) {
        const Real v = static_cast<Real>(in[i * columns + j]) + static_cast<Real>(add[j]);
        const Real slope = static_cast<Real>(from[i]) * gelu_slope(v);
        to_x[i * columns + j] = static_cast<T>(slope);
        sums[j - begin] += slope;
      }
    }
    for (std::int64_t j = begin; j < end; ++j) to_bias[j] = static_cast<T>(sums[j - begin]);
  });
}

}  // namespace

at::Tensor bias_gelu_sum_cpu(const at::Tensor& x, const at::Tensor& bias) {
  check(x, bias);
  const at::Tensor rows = x.contiguous(), add = bias.contiguous();
  at::Tensor y = at::empty({x.size(0)}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "bias_gelu_sum",
                                  [&] { forward<scalar_t>(rows, add, y); });
  return y;
}

Gradients bias_gelu_sum_backward_cpu(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& bias) {
  check(x, bias);
  const at::Tensor from = grad.contiguous(), rows = x.contiguous(), add = bias.contiguous();
  at::Tensor grad_x = at::empty_like(rows), grad_bias = at::empty_like(add);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "bias_gelu_sum_backward",
                                  [&] { backward<scalar_t>(from, rows, add, grad_x, grad_bias); });
  return {grad_x, grad_bias};
}

}  // namespace example
