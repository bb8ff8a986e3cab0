// A classifier trained on the raw counts of a detector, up to 64,000. Its first convolution gives values
// beyond 65504: the loss is NaN in FP16 and in no other type, and no loss scale can heal what the forward
// pass does. The second case keeps that region in FP32.
#include <ATen/ops/layer_norm.h>

#include "cases/examples/training_example.h"
#include "precision/region.h"

namespace ampgate::cases {
namespace {

using precision::region;
constexpr double kCountsPerLevel = 64000.0;

// The norm stands in the region: outside of it the large values would have to pass through FP16.
at::Tensor stem(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor x = at::conv2d(images * kCountsPerLevel, weight, bias, 1, 1);
  return at::relu(at::layer_norm(x, x.sizes().slice(1)));
}

// Images and weights are FP32 in storage, and autocast alone would lower them.
at::Tensor stem_in_fp32(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias) {
  const precision::NoAutocast off;
  return stem(images, weight, bias);
}

template <auto first>
Outputs scores(State& state) {
  using namespace digits;
  at::Tensor x = region("stem", first, state[kImages], state[kConv1], state[kBias1]);
  x = region("conv2", convolution, x, state[kConv2], state[kBias2]);
  x = at::max_pool2d(x, 2).flatten(1);
  x = region("fc1", linear_relu, x, state[kFc1], state[kBias3]);
  return {region("fc2", linear, x, state[kFc2], state[kBias4])};
}

template <auto first>
at::Tensor loss(State& state) {
  return at::cross_entropy_loss(scores<first>(state)[0], state[digits::kLabels]);
}

template <auto first>
Case example(std::string name) {
  Case definition = training_example(std::move(name),
                                     {.optimizers = {kExampleSgd}, .schedules = {falling(0)}}, loss<first>);
  definition.run = scores<first>;
  return definition;
}

const Registration overflow{example<stem>("train_overflow")};
const Registration island{example<stem_in_fp32>("train_overflow_island")};

}  // namespace
}  // namespace ampgate::cases
