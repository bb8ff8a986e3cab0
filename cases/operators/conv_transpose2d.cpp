#include <ATen/ops/conv_transpose2d.h>

#include <algorithm>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kInput, kWeight };
constexpr std::int64_t kStride = 2;

// Upsampling by two, as in a decoder: with kernel 4 and padding 1 height and width double. Flops: every input
// element meets every weight of its channel, those included whose product falls outside the output.
const Registration registration{{
    .name = "conv_transpose2d",
    .dims = {"batch", "in", "out", "height", "width", "kernel"},
    .suites = {{"smoke", {{2, 5, 3, 7, 9, 4}}},
               {"standard", {{2, 32, 16, 28, 28, 4}}},
               {"large", {{32, 256, 128, 56, 56, 4}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {
          {{"input", fill.normal("input", {shape["batch"], shape["in"], shape["height"], shape["width"]})},
           {"weight", fill.normal("weight", {shape["in"], shape["out"], shape["kernel"], shape["kernel"]}),
            Role::kWeight}}};
    },
    .run = [](State& state) -> Outputs {
      return {at::conv_transpose2d(state[kInput], state[kWeight], {}, kStride, 1)};
    },
    .facts = [](const Shape& shape) -> Facts {
      // Taps that reach one output, in each direction.
      const std::int64_t taps = (shape["kernel"] + kStride - 1) / kStride;
      return {.flops = 2.0 * shape.product({"batch", "in", "height", "width", "out", "kernel", "kernel"}),
              .bound = {.family = Family::kInnerProduct,
                        .length = shape["in"] * taps * taps,
                        .reduced = {{kInput, 1}, {kWeight, 0}},
                        .fp16_partials = taps * taps},
              .independent = {{0, {{kInput, 0}}}, {1, {{kWeight, 1}}}}};
    },
    .misfit = [](const Shape& shape) -> std::string {
      const std::int64_t least =
          kStride * (std::min(shape["height"], shape["width"]) - 1) - 2 + shape["kernel"];
      return least >= 1 ? "" : "height, width and kernel leave no output: the padding takes it away";
    },
}};

}  // namespace
}  // namespace ampgate::cases
