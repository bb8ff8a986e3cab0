// The function and its slope, for CPUs and GPUs.
#pragma once

#include <cmath>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define EXAMPLE_EVERYWHERE __host__ __device__
#else
#define EXAMPLE_EVERYWHERE
#endif

namespace example {

// erfc and not 1 + erf: nothing cancels where v is negative.
template <typename Real>
EXAMPLE_EVERYWHERE Real gelu(Real v) {
  constexpr auto kHalfRoot = static_cast<Real>(0.70710678118654752440);
  return static_cast<Real>(0.5) * v * std::erfc(-v * kHalfRoot);
}

template <typename Real>
EXAMPLE_EVERYWHERE Real gelu_slope(Real v) {
  constexpr auto kHalfRoot = static_cast<Real>(0.70710678118654752440);
  constexpr auto kDensity = static_cast<Real>(0.39894228040143267794);  // 1 / sqrt(2 pi)
  return static_cast<Real>(0.5) * std::erfc(-v * kHalfRoot) +
         v * kDensity * std::exp(static_cast<Real>(-0.5) * v * v);
}

}  // namespace example
