// A small convolutional network on hand-written digits: two convolutions, pooling, two linear layers. Nothing
// in it behaves otherwise in training. Weights, data and their sources: cases/data/README.md.
#include <ATen/ops/conv2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "cases/case.h"
#include "cases/data.h"
#include "cases/fills.h"
#include "cases/models/held_out.h"
#include "cases/models/layers.h"
#include "precision/region.h"

namespace ampgate::cases {
namespace {

using precision::region;

enum : std::size_t { kImages, kLabels, kConv1, kBias1, kConv2, kBias2, kFc1, kBias3, kFc2, kBias4 };

// Preprocessing: grey levels 0 to 16 become 0 to 1.
State setup(const Shape& shape, const Fill& fill) {
  auto data = load_safetensors(data_file("digits.safetensors"));
  auto weights = load_safetensors(data_file("digits_classifier.safetensors"));
  const auto batch = [&](const char* table) {
    return held_out(fill, data.at(table), data.at("test"), shape["batch"]);
  };
  at::Tensor images = batch("images").unsqueeze(1).to(at::kFloat) / 16;
  if (fill.kind() != FillKind::kOrdinary) images = fill.normal("images", images.sizes());
  State state{{{"images", images}, {"labels", batch("labels")}}};
  add_layers(state, weights, {"conv1", "conv2", "fc1", "fc2"});
  return state;
}

at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::relu(at::conv2d(x, weight, bias, 1, 1));
}

Outputs run(State& state) {
  at::Tensor x = region("conv1", convolution, state[kImages], state[kConv1], state[kBias1]);
  x = region("conv2", convolution, x, state[kConv2], state[kBias2]);
  x = at::max_pool2d(x, 2).flatten(1);
  x = region("fc1", linear_relu, x, state[kFc1], state[kBias3]);
  return {region("fc2", linear, x, state[kFc2], state[kBias4])};
}

// Flops of the products alone, per image: 16x1x9 and 32x16x9 taps at 64 places, then 512x64 and 64x10.
Facts facts(const Shape& shape) {
  constexpr double kProducts = 64 * (16 * 1 * 9 + 32 * 16 * 9) + 512 * 64 + 64 * 10;
  return classifier_facts(2.0 * kProducts * static_cast<double>(shape["batch"]));
}

const Registration registration{{
    .name = "digits_classifier",
    .dims = {"batch"},
    .suites = {{"smoke", {{16}}}, {"standard", {{256}}}, {"large", {{16384}}}},
    .outputs = {"scores"},
    .setup = setup,
    .run = run,
    .facts = facts,
    .model = true,
    .shape_prefix = "batch",
}};

}  // namespace
}  // namespace ampgate::cases
