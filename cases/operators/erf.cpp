#include <ATen/ops/erf.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX };

const Registration registration{{
    .name = "erf",
    .dims = {"elements"},
    .suites = {{"smoke", {{1001}}}, {"standard", {{1 << 20}}}, {"large", {{1 << 28}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["elements"]})}}};
    },
    .run = [](State& state) -> Outputs { return {at::erf(state[kX])}; },
    .facts = [](const Shape&) -> Facts {
      return {.bound = {.family = Family::kErf}, .independent = {{0, {{kX, 0}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
