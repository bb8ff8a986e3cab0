// Counting by adding ones to one place: the running sum is kept in the tensor's own type, and BF16 cannot
// tell 257 from 256.
#include <ATen/ops/index_add.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kCount, kIndex, kOnes };

const Registration registration{{
    .name = "ones_counter",
    .dims = {"ones"},
    .suites = {{"examples", {{512}}}},
    .outputs = {"count"},
    .setup = [](const Shape& shape, const Fill&) -> State {
      return {{{"self", at::zeros({1})},
               {"index", at::zeros({shape["ones"]}, at::kLong)},
               {"source", at::ones({shape["ones"]})}}};
    },
    .run = [](State& state) -> Outputs {
      return {at::index_add(state[kCount], 0, state[kIndex], state[kOnes])};
    },
    .facts = [](const Shape& shape) -> Facts {
      return {.bound = {.family = Family::kIndexAdd, .length = shape["ones"] + 1, .dims = {0}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
