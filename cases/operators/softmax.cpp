#include <ATen/ops/softmax.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX };

const Registration registration{{
    .name = "softmax",
    .dims = {"rows", "width"},
    .suites = {{"smoke", {{7, 65}}}, {"standard", {{2048, 1024}}}, {"large", {{32768, 8192}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["rows"], shape["width"]})}}};
    },
    .run = [](State& state) -> Outputs { return {at::softmax(state[kX], 1)}; },
    .facts = [](const Shape& shape) -> Facts {
      return {.bound = {.family = Family::kSoftmax, .length = shape["width"], .dims = {1}},
              .independent = {{0, {{kX, 0}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
