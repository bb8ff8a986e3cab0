// How far two outputs of the same call lie apart, over all elements: the comparator's loops without a bound.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace ampgate::backends {

struct Difference {
  std::int64_t elements = 0;
  std::int64_t masks = 0;        // NaN in one only, or infinities that are not the same
  std::int64_t mask_at = -1;     // the first of them, in logical order; -1: none
  double largest = 0.0;          // magnitude, where both are finite
  std::int64_t largest_at = -1;  // the first such element; -1: all are equal
  double rms = 0.0;              // over the elements that are finite in both
};

// Of the same type and sizes, on any device; computed on the CPU. Integers are compared by value. An infinity
// beside a finite value that is within `slack` of the type's largest is no difference of masks.
Difference difference(const at::Tensor& now, const at::Tensor& before, double slack);

}  // namespace ampgate::backends
