// Batches from the held-out rows of a dataset, for the inputs of models.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <cstdint>

#include "cases/fills.h"

namespace ampgate::cases {

// A batch of the table's rows: the held-out ones `test` (row numbers, int64) in their order, from the start
// again when they run out. Without values where the fill gives none.
inline at::Tensor held_out(const Fill& fill, const at::Tensor& table, const at::Tensor& test,
                           std::int64_t batch) {
  if (fill.kind() == FillKind::kNone) {
    auto sizes = table.sizes().vec();
    sizes.front() = batch;
    return at::empty(sizes, table.options().device(at::kMeta));
  }
  return table.index_select(0, test.index_select(0, at::arange(batch, at::kLong).remainder(test.size(0))));
}

}  // namespace ampgate::cases
