#include <ATen/ops/linear.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX, kWeight };

// Without bias, as in most language models; `mlp_regressor` has one.
const Registration registration{{
    .name = "linear",
    .dims = {"rows", "in", "out"},
    .suites = {{"smoke", {{7, 33, 19}}}, {"standard", {{64, 1024, 1024}}}, {"large", {{8192, 4096, 16384}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["rows"], shape["in"]})},
               {"weight", fill.normal("weight", {shape["out"], shape["in"]}), Role::kWeight}}};
    },
    .run = [](State& state) -> Outputs { return {at::linear(state[kX], state[kWeight])}; },
    .facts = [](const Shape& shape) -> Facts {
      return {.flops = 2.0 * shape.product({"rows", "in", "out"}),
              .bound = {.family = Family::kInnerProduct,
                        .length = shape["in"],
                        .reduced = {{kX, 1}, {kWeight, 1}}},
              .independent = {{0, {{kX, 0}}}, {1, {{kWeight, 0}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
