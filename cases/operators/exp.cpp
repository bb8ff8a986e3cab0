#include <ATen/ops/exp.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX };

// Ordinary inputs lie within ±6, so that FP16 does not overflow (from 11.09 on).
const Registration registration{{
    .name = "exp",
    .dims = {"elements"},
    .suites = {{"smoke", {{1001}}}, {"standard", {{1 << 21}}}, {"large", {{1 << 28}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["elements"]})}}};
    },
    .run = [](State& state) -> Outputs { return {at::exp(state[kX])}; },
    .facts = [](const Shape&) -> Facts {
      return {.bound = {.family = Family::kExp}, .independent = {{0, {{kX, 0}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
