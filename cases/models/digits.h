// The small convolutional network on hand-written digits, which one case tries and others train: two
// convolutions, pooling, two linear layers. Nothing in it behaves otherwise in training.
#pragma once

#include <ATen/ops/conv2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "cases/case.h"
#include "cases/models/layers.h"
#include "precision/region.h"

namespace ampgate::cases::digits {

enum : std::size_t { kImages, kLabels, kConv1, kBias1, kConv2, kBias2, kFc1, kBias3, kFc2, kBias4 };

inline at::Tensor convolution(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::relu(at::conv2d(x, weight, bias, 1, 1));
}

// (batch, 1, 8, 8) to (batch, 10).
inline Outputs scores(State& state) {
  using precision::region;
  at::Tensor x = region("conv1", convolution, state[kImages], state[kConv1], state[kBias1]);
  x = region("conv2", convolution, x, state[kConv2], state[kBias2]);
  x = at::max_pool2d(x, 2).flatten(1);
  x = region("fc1", linear_relu, x, state[kFc1], state[kBias3]);
  return {region("fc2", linear, x, state[kFc2], state[kBias4])};
}

// Multiply-adds of one image: 16x1x9 and 32x16x9 taps at 64 places, then 512x64 and 64x10.
inline constexpr double kFirstProduct = 64 * 16 * 1 * 9;
inline constexpr double kProducts = kFirstProduct + 64 * 32 * 16 * 9 + 512 * 64 + 64 * 10;

}  // namespace ampgate::cases::digits
