// A classifier trained on the raw counts of a detector, up to 64,000. Its first layer gives values beyond
// 65504: the loss is NaN in FP16 and in no other type, and no loss scale can heal what the forward pass does.
// The second case keeps that region in FP32.
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include "cases/examples/training_example.h"
#include "cases/models/layers.h"
#include "precision/region.h"

namespace ampgate::cases::example {
namespace {

using precision::region;
constexpr double kLargestCount = 64000.0;

// The norm stands in the region: outside of it the large values would have to pass through FP16.
at::Tensor stem(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor x = at::linear(images.flatten(1) * kLargestCount, weight, bias);
  return at::relu(at::layer_norm(x, x.sizes().slice(1)));
}

// Images and weights are FP32 in storage: with autocast off, nothing of them is lowered.
at::Tensor stem_in_fp32(const at::Tensor& images, const at::Tensor& weight, const at::Tensor& bias) {
  const precision::NoAutocast off;
  return stem(images, weight, bias);
}

template <auto first>
Outputs normed_scores(State& state) {
  const at::Tensor x = region("stem", first, state[kImages], state[kHidden], state[kHiddenBias]);
  return {region("head", linear, x, state[kHead], state[kHeadBias])};
}

template <auto first>
at::Tensor loss(State& state) {
  return at::cross_entropy_loss(normed_scores<first>(state)[0], state[kLabels]);
}

// Weights four times as large as layers usually begin with.
State large_setup(const Shape&, const Fill& fill) {
  State state = digits_state(fill, add_weights);
  state[kHidden].mul_(4);
  return state;
}

template <auto first>
Case with_stem(std::string name) {
  Case definition = training(std::move(name), kSgd, loss<first>);
  definition.setup = large_setup;
  definition.run = normed_scores<first>;
  return definition;
}

const Registration overflow{with_stem<stem>("train_overflow")};
const Registration island{with_stem<stem_in_fp32>("train_overflow_island")};

}  // namespace
}  // namespace ampgate::cases::example
