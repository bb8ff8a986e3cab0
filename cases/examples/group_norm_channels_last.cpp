// group_norm on values with a mean of 10,000 standard deviations, stored channels-last. LibTorch's CPU kernel
// for that layout takes the variance as the difference of two large means, in FP32: here the baseline is
// wrong.
#include <ATen/ops/group_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX, kWeight, kBias };
constexpr std::int64_t kGroups = 4;
constexpr double kEps = 1e-5;
constexpr double kMean = 1e4;

const Registration registration{{
    .name = "group_norm_channels_last",
    .dims = {"batch", "channels", "height", "width"},
    .suites = {{"examples", {{2, 32, 16, 16}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      const std::int64_t channels = shape["channels"];
      const at::Tensor x =
          fill.normal("x", {shape["batch"], channels, shape["height"], shape["width"]}) + kMean;
      return {{{"x", x.contiguous(at::MemoryFormat::ChannelsLast)},
               {"weight", at::ones({channels}), Role::kWeight},
               {"bias", at::zeros({channels}), Role::kWeight}}};
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
