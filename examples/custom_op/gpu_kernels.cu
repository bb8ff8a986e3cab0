// One source for nvcc and hipcc: the few names of the runtime that differ are made by GPU(...).
#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#else
#include <cuda_runtime.h>
#define GPU(name) cuda##name
#endif

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>

#include "gelu.h"
#include "gpu_kernels.h"

namespace example::gpu {
namespace {

constexpr int kThreads = 256;  // a multiple of a warp's (CUDA 32, AMD's GPUs 32 or 64) and a power of two
constexpr std::int64_t kMostBlocks = 65535;

// In what sums are kept.
template <typename T>
struct RealOf {
  using type = float;
};
template <>
struct RealOf<double> {
  using type = double;
};

// One block a row; every thread takes a column of each tile of kThreads.
template <typename T>
__global__ void forward_kernel(const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t columns) {
  using Real = typename RealOf<T>::type;
  __shared__ Real lanes[kThreads];
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Real sum = 0;
    for (std::int64_t j = threadIdx.x; j < columns; j += kThreads)
      sum += gelu(static_cast<Real>(x[row * columns + j]) + static_cast<Real>(bias[j]));
    lanes[threadIdx.x] = sum;
    __syncthreads();
    for (int half = kThreads / 2; half > 0; half /= 2) {
      if (static_cast<int>(threadIdx.x) < half) lanes[threadIdx.x] += lanes[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) y[row] = static_cast<T>(lanes[0]);
    __syncthreads();  // the next row writes to the lanes
  }
}

// One thread a column, so that its sum needs no atomic addition and repeats bit by bit.
template <typename T>
__global__ void backward_kernel(const T* grad, const T* x, const T* bias, T* grad_x, T* grad_bias,
                                std::int64_t rows, std::int64_t columns) {
  using Real = typename RealOf<T>::type;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (std::int64_t j = first; j < columns; j += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    Real sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const Real v = static_cast<Real>(x[i * columns + j]) + static_cast<Real>(bias[j]);
      const Real slope = static_cast<Real>(grad[i]) * gelu_slope(v);
      grad_x[i * columns + j] = static_cast<T>(slope);
      sum += slope;
    }
    grad_bias[j] = static_cast<T>(sum);
  }
}

int blocks_for(std::int64_t count) {
  return static_cast<int>(std::min(std::max<std::int64_t>(count, 1), kMostBlocks));
}

const char* launched() {
  const auto error = GPU(GetLastError)();
  return error == GPU(Success) ? "" : GPU(GetErrorString)(error);
}

// Calls `launch` with a null pointer of the type.
template <typename Launch>
const char* by_type(Type type, const Launch& launch) {
  switch (type) {
    case Type::kFloat:
      launch(static_cast<const float*>(nullptr));
      break;
    case Type::kDouble:
      launch(static_cast<const double*>(nullptr));
      break;
    case Type::kHalf:
      launch(static_cast<const c10::Half*>(nullptr));
      break;
    case Type::kBFloat16:
      launch(static_cast<const c10::BFloat16*>(nullptr));
      break;
  }
  return launched();
}

template <typename T>
void launch_forward(const void* x, const void* bias, void* y, std::int64_t rows, std::int64_t columns,
                    GPU(Stream_t) stream) {
  forward_kernel<T><<<blocks_for(rows), kThreads, 0, stream>>>(
      static_cast<const T*>(x), static_cast<const T*>(bias), static_cast<T*>(y), rows, columns);
}

template <typename T>
void launch_backward(const void* grad, const void* x, const void* bias, void* grad_x, void* grad_bias,
                     std::int64_t rows, std::int64_t columns, GPU(Stream_t) stream) {
  backward_kernel<T><<<blocks_for((columns + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      static_cast<const T*>(grad), static_cast<const T*>(x), static_cast<const T*>(bias),
      static_cast<T*>(grad_x), static_cast<T*>(grad_bias), rows, columns);
}

}  // namespace

const char* forward(Type type, const void* x, const void* bias, void* y, std::int64_t rows,
                    std::int64_t columns, void* stream) {
  if (rows == 0) return "";
  const auto on = static_cast<GPU(Stream_t)>(stream);
  return by_type(type, [&]<typename T>(const T*) { launch_forward<T>(x, bias, y, rows, columns, on); });
}

const char* backward(Type type, const void* grad, const void* x, const void* bias, void* grad_x,
                     void* grad_bias, std::int64_t rows, std::int64_t columns, void* stream) {
  if (columns == 0) return "";
  const auto on = static_cast<GPU(Stream_t)>(stream);
  return by_type(type, [&]<typename T>(const T*) {
    launch_backward<T>(grad, x, bias, grad_x, grad_bias, rows, columns, on);
  });
}

}  // namespace example::gpu
