// The 128-bit digest of a tensor: over its type, sizes and elements in logical order, keyed by position, so
// that it does not depend on layout, threads or device. It detects accidents, not forgery.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace ampgate::backends {

// 32 hexadecimal digits. Bitwise: -0 and +0 differ, NaN payloads count. A tensor on a device is copied to the
// CPU first.
std::string digest(const at::Tensor& tensor);

// One digest of several tensors in their order; not that of a single one where there is only one.
std::string digest_of_all(c10::ArrayRef<at::Tensor> tensors);

}  // namespace ampgate::backends
