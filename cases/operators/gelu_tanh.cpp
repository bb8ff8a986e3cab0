#include <ATen/ops/gelu.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX };

const Registration registration{{
    .name = "gelu_tanh",
    .dims = {"elements"},
    .suites = {{"smoke", {{1001}}}, {"standard", {{1 << 21}}}, {"large", {{1 << 28}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["elements"]})}}};
    },
    .run = [](State& state) -> Outputs { return {at::gelu(state[kX], "tanh")}; },
    .facts = [](const Shape&) -> Facts {
      return {.bound = {.family = Family::kGeluTanh}, .independent = {{0, {{kX, 0}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
