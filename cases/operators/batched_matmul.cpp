#include <ATen/ops/bmm.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kA, kB };

const Registration registration{{
    .name = "batched_matmul",
    .dims = {"batch", "m", "n", "k"},
    .suites = {{"smoke", {{3, 17, 9, 33}}},
               {"standard", {{8, 128, 128, 64}}},
               {"large", {{64, 1024, 1024, 1024}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"a", fill.normal("a", {shape["batch"], shape["m"], shape["k"]})},
               {"b", fill.normal("b", {shape["batch"], shape["k"], shape["n"]})}}};
    },
    .run = [](State& state) -> Outputs { return {at::bmm(state[kA], state[kB])}; },
    .facts = [](const Shape& shape) -> Facts {
      return {.flops = 2.0 * shape.product({"batch", "m", "n", "k"}),
              .bound = {.family = Family::kInnerProduct, .length = shape["k"], .reduced = {{kA, 2}, {kB, 1}}},
              .independent = {{0, {{kA, 0}, {kB, 0}}}, {1, {{kA, 1}}}, {2, {{kB, 2}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
