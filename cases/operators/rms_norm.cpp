#include <ATen/ops/rms_norm.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX, kWeight };
constexpr double kEps = 1e-6;  // given: LibTorch's default would depend on the type

const Registration registration{{
    .name = "rms_norm",
    .dims = {"rows", "width"},
    .suites = {{"smoke", {{7, 65}}}, {"standard", {{2048, 1024}}}, {"large", {{32768, 8192}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      const std::int64_t width = shape["width"];
      return {{{"x", fill.normal("x", {shape["rows"], width})},
               {"weight", fill.uniform("weight", {width}, 0.5, 1.5), Role::kWeight}}};
    },
    .run = [](State& state) -> Outputs {
      return {at::rms_norm(state[kX], state[kWeight].sizes(), state[kWeight], kEps)};
    },
    .facts = [](const Shape& shape) -> Facts {
      return {.bound = {.family = Family::kRmsNorm, .length = shape["width"], .dims = {1}, .eps = kEps},
              .independent = {{0, {{kX, 0}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
