#include <ATen/ops/cross_entropy_loss.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX, kTarget };

// The mean over the rows, as in training.
const Registration registration{{
    .name = "cross_entropy",
    .dims = {"rows", "classes"},
    .suites = {{"smoke", {{7, 65}}}, {"standard", {{1024, 1000}}}, {"large", {{8192, 50257}}}},
    .outputs = {"loss"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["rows"], shape["classes"]})},
               {"target", fill.integers("target", {shape["rows"]}, 0, shape["classes"])}}};
    },
    .run = [](State& state) -> Outputs { return {at::cross_entropy_loss(state[kX], state[kTarget])}; },
    .facts = [](const Shape& shape) -> Facts {
      return {.bound = {.family = Family::kCrossEntropy, .length = shape["classes"], .dims = {1}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
