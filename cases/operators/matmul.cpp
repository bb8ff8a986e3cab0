#include <ATen/ops/matmul.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kA, kB };

const Registration registration{{
    .name = "matmul",
    .dims = {"m", "n", "k"},
    .suites = {{"smoke", {{65, 33, 100}}},
               {"standard", {{256, 256, 256}, {512, 512, 512}}},
               {"large", {{1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"a", fill.normal("a", {shape["m"], shape["k"]})},
               {"b", fill.normal("b", {shape["k"], shape["n"]})}}};
    },
    .run = [](State& state) -> Outputs { return {at::matmul(state[kA], state[kB])}; },
    .facts = [](const Shape& shape) -> Facts {
      return {.flops = 2.0 * shape.product({"m", "n", "k"}),
              .bound = {.family = Family::kInnerProduct, .length = shape["k"], .reduced = {{kA, 1}, {kB, 0}}},
              .independent = {{0, {{kA, 0}}}, {1, {{kB, 1}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
