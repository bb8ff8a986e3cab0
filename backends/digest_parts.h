// The two ends of a digest, for those who sum up the words elsewhere than on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "backends/kernels/hash.h"

namespace ampgate::backends {

// The same elements, contiguous, on the tensor's own device. Throws std::invalid_argument when it is not
// dense.
at::Tensor in_logical_order(const at::Tensor& tensor);

// The digest of a tensor whose words have the sum `sum`.
std::string digest_of(hash::Lanes sum, const at::Tensor& tensor);

}  // namespace ampgate::backends
