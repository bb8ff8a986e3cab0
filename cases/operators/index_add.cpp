#include <ATen/ops/index_add.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kSelf, kIndex, kSource };

// Several sources go to one row, so that the order of additions and the type of the running sum matter; in 16
// bit that type is the tensor's own.
const Registration registration{{
    .name = "index_add",
    .dims = {"rows", "sources", "width"},
    .suites = {{"smoke", {{7, 29, 13}}}, {"standard", {{512, 2048, 256}}}, {"large", {{65536, 524288, 512}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"self", fill.normal("self", {shape["rows"], shape["width"]})},
               {"index", fill.integers("index", {shape["sources"]}, 0, shape["rows"])},
               {"source", fill.normal("source", {shape["sources"], shape["width"]})}}};
    },
    .run = [](State& state) -> Outputs {
      return {at::index_add(state[kSelf], 0, state[kIndex], state[kSource])};
    },
    .facts = [](const Shape& shape) -> Facts {
      return {.bound = {.family = Family::kIndexAdd, .length = shape["sources"] + 1, .dims = {0}},
              .independent = {{1, {{kSelf, 1}, {kSource, 1}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
