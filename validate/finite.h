// Is everything finite, and if not, where first: one pass over a tensor's exponent bits, without temporaries.
// 1 Mi elements take about 0.05 ms in 16 bit and 0.2 ms in FP32 on one core.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ampgate::validate {

struct FiniteScan {
  std::int64_t elements = 0;
  std::int64_t nans = 0;
  std::int64_t infinities = 0;
  std::int64_t first = -1;  // the first NaN or infinity in logical order (elements.h: position_of); -1: none
  double largest = 0.0;     // largest finite magnitude; 0 where there is none
  // All bits set, a NaN that no arithmetic makes: memory that was filled so beforehand and never written.
  std::int64_t unwritten = 0;
  std::int64_t first_unwritten = -1;  // as `first`

  bool finite() const { return nans + infinities == 0; }
};

// Any strides, also overlapping ones. A tensor on a device is copied to the CPU, a sparse one is made dense.
// Types without infinities (integers, bool) and undefined tensors are finite and have no `largest`. Throws
// std::invalid_argument for floating types other than float16, bfloat16, float32 and float64.
FiniteScan scan_finite(const at::Tensor& tensor);

}  // namespace ampgate::validate
