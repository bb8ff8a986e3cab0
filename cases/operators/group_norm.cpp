#include <ATen/ops/group_norm.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX, kWeight, kBias };
constexpr std::int64_t kGroups = 4;
constexpr double kEps = 1e-5;

const Registration registration{{
    .name = "group_norm",
    .dims = {"batch", "channels", "height", "width"},
    .suites = {{"smoke", {{2, 12, 5, 7}}}, {"standard", {{8, 64, 56, 56}}}, {"large", {{64, 512, 64, 64}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      const std::int64_t channels = shape["channels"];
      return {{{"x", fill.normal("x", {shape["batch"], channels, shape["height"], shape["width"]})},
               {"weight", fill.uniform("weight", {channels}, 0.5, 1.5), Role::kWeight},
               {"bias", fill.uniform("bias", {channels}, -0.5, 0.5), Role::kWeight}}};
    },
    .run = [](State& state) -> Outputs {
      return {at::group_norm(state[kX], kGroups, state[kWeight], state[kBias], kEps)};
    },
    .facts = [](const Shape& shape) -> Facts {
      return {.bound = {.family = Family::kGroupNorm,
                        .length = shape["channels"] / kGroups * shape["height"] * shape["width"],
                        .groups = kGroups,
                        .eps = kEps},
              .independent = {{0, {{kX, 0}}}}};
    },
    .misfit = [](const Shape& shape) -> std::string {
      return shape["channels"] % kGroups == 0 ? ""
                                              : "channels must be a multiple of " + std::to_string(kGroups);
    },
}};

}  // namespace
}  // namespace ampgate::cases
