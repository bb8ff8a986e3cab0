#include <ATen/ops/log.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX };

// Ordinary inputs lie in [1/64, 16); other values are tried one by one.
const Registration registration{{
    .name = "log",
    .dims = {"elements"},
    .suites = {{"smoke", {{1001}}}, {"standard", {{1 << 20}}}, {"large", {{1 << 28}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.uniform("x", {shape["elements"]}, 0x1p-6, 16.0)}}};
    },
    .run = [](State& state) -> Outputs { return {at::log(state[kX])}; },
    .facts = [](const Shape&) -> Facts {
      return {.bound = {.family = Family::kLog},
              .independent = {{0, {{kX, 0}}}},
              .domain = "positive finite inputs"};
    },
}};

}  // namespace
}  // namespace ampgate::cases
