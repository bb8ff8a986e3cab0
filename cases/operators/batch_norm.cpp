#include <ATen/ops/batch_norm.h>

#include "cases/case.h"
#include "cases/fills.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX, kMean, kVariance, kWeight, kBias };
constexpr double kEps = 1e-5;

// In eval mode: mean and variance are weights.
const Registration registration{{
    .name = "batch_norm",
    .dims = {"batch", "channels", "height", "width"},
    .suites = {{"smoke", {{2, 5, 7, 9}}}, {"standard", {{8, 64, 56, 56}}}, {"large", {{64, 512, 64, 64}}}},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      const std::int64_t channels = shape["channels"];
      return {{{"x", fill.normal("x", {shape["batch"], channels, shape["height"], shape["width"]})},
               {"mean", fill.uniform("mean", {channels}, -1.0, 1.0), Role::kWeight},
               {"variance", fill.uniform("variance", {channels}, 0.5, 2.0), Role::kWeight},
               {"weight", fill.uniform("weight", {channels}, 0.5, 1.5), Role::kWeight},
               {"bias", fill.uniform("bias", {channels}, -0.5, 0.5), Role::kWeight}}};
    },
    .run = [](State& state) -> Outputs {
      return {at::batch_norm(state[kX], state[kWeight], state[kBias], state[kMean], state[kVariance],
                             /*training=*/false, /*momentum=*/0.0, kEps, /*cudnn_enabled=*/true)};
    },
    .facts = [](const Shape&) -> Facts {
      return {.bound = {.family = Family::kBatchNormEval, .eps = kEps},
              .independent = {{0, {{kX, 0}}},
                              {1, {{kX, 1}, {kMean, 0}, {kVariance, 0}, {kWeight, 0}, {kBias, 0}}},
                              {2, {{kX, 2}}},
                              {3, {{kX, 3}}}}};
    },
}};

}  // namespace
}  // namespace ampgate::cases
