// Results of faulty kernels: copies, a place to put a fault, and values next to each other.
#pragma once

#include <ATen/core/Tensor.h>

#include "precision/formats.h"
#include "validate/selftest/call.h"

namespace ampgate::validate::selftest {

// Contiguous, with its own memory.
at::Tensor copy_of(const at::Tensor& right);

// A seeded element of at least the result's root mean square, so that a fault in it is a fault in a value
// that counts; any element when none is. Index in logical order; the result is not empty.
std::int64_t typical_element(Call& call);

// FP64 truncated to `type`.
at::Tensor truncated_to(const at::Tensor& fp64, c10::ScalarType type);

// The values next to `rounded` (contiguous, 16 or 32 bit) towards zero, or away from it.
at::Tensor towards_zero(const at::Tensor& rounded);
at::Tensor away_from_zero(const at::Tensor& rounded);

}  // namespace ampgate::validate::selftest
