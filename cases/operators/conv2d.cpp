#include <ATen/ops/conv2d.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kInput, kWeight };

// Stride 1, padded so that an odd kernel keeps height and width. Flops count the taps that lie in the
// padding, as published counts of convolutions do.
Case conv2d(const char* name, at::MemoryFormat layout) {
  return {
      .name = name,
      .dims = {"batch", "in", "out", "height", "width", "kernel"},
      .suites = {{"smoke", {{2, 5, 7, 9, 11, 3}}},
                 {"standard", {{2, 32, 32, 28, 28, 3}}},
                 {"large", {{32, 256, 256, 56, 56, 3}}}},
      .outputs = {"out"},
      .setup = [layout](const Shape& shape, const Fill& fill) -> State {
        const auto filled = [&](const char* tensor, std::int64_t first, std::int64_t height,
                                std::int64_t width) {
          return fill.normal(tensor, {first, shape["in"], height, width}).contiguous(layout);
        };
        return {
            {{"input", filled("input", shape["batch"], shape["height"], shape["width"])},
             {"weight", filled("weight", shape["out"], shape["kernel"], shape["kernel"]), Role::kWeight}}};
      },
      .run = [](State& state) -> Outputs {
        return {at::conv2d(state[kInput], state[kWeight], {}, 1, state[kWeight].size(2) / 2)};
      },
      .facts = [](const Shape& shape) -> Facts {
        const std::int64_t products = shape["in"] * shape["kernel"] * shape["kernel"];
        return {
            .flops = 2.0 * static_cast<double>(products) * shape.product({"batch", "out", "height", "width"}),
            .bound = {.family = Family::kInnerProduct,
                      .length = products,
                      .reduced = {{kInput, 1}, {kWeight, 1}}},
            .independent = {{0, {{kInput, 0}}}, {1, {{kWeight, 0}}}}};
      },
      .misfit = [](const Shape& shape) -> std::string {
        return shape["kernel"] % 2 == 1 ? ""
                                        : "kernel must be odd: it is padded so that height and width stay";
      },
  };
}

const Registration registration{conv2d("conv2d", at::MemoryFormat::Contiguous)};
const Registration channels_last{conv2d("conv2d_channels_last", at::MemoryFormat::ChannelsLast)};

}  // namespace
}  // namespace ampgate::cases
