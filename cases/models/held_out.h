// Batches from the held-out rows of a dataset, for the inputs of models.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>

#include <cstdint>

namespace ampgate::cases {

// Row numbers of a batch: the held-out rows `test` (int64) in their order, from the start again when they run
// out.
inline at::Tensor held_out_rows(const at::Tensor& test, std::int64_t batch) {
  return test.index_select(0, at::arange(batch, at::kLong).remainder(test.size(0)));
}

}  // namespace ampgate::cases
