// One encoder block, norm first, without dropout: x + projection(attention(norm(x))), then x + mlp(norm(x)).
// One case tries it, another trains it.
#pragma once

#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <string>

#include "cases/attention.h"
#include "cases/case.h"
#include "cases/fills.h"
#include "cases/models/layers.h"
#include "precision/region.h"

namespace ampgate::cases::transformer {

using at::Tensor;
using precision::region;

enum : std::size_t {
  kX,
  kNorm1,
  kNormBias1,
  kQkv,
  kQkvBias,
  kProjection,
  kProjectionBias,
  kNorm2,
  kNormBias2,
  kUp,
  kUpBias,
  kDown,
  kDownBias,
  kTensors
};
inline constexpr std::int64_t kHeadWidth = 32;
inline constexpr double kEps = 1e-5;

using Attention = Tensor (*)(const Tensor& query, const Tensor& key, const Tensor& value);

// Random weights of the size that trained ones start with: variance 1 / fan-in.
inline void add_weights(State& state, const Fill& fill, std::int64_t width) {
  const auto uniform = [&](const std::string& name, at::IntArrayRef sizes, double low, double high) {
    state.tensors.push_back({name, fill.uniform(name, sizes, low, high), Role::kWeight});
  };
  const auto norm = [&](const std::string& name) {
    uniform(name + ".weight", {width}, 0.5, 1.5);
    uniform(name + ".bias", {width}, -0.5, 0.5);
  };
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    const double limit = std::sqrt(3.0 / static_cast<double>(in));
    uniform(name + ".weight", {out, in}, -limit, limit);
    uniform(name + ".bias", {out}, -0.5, 0.5);
  };
  norm("norm1");
  linear("qkv", 3 * width, width);
  linear("projection", width, width);
  norm("norm2");
  linear("up", 4 * width, width);
  linear("down", width, 4 * width);
}

inline Tensor norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return at::layer_norm(x, weight.sizes(), weight, bias, kEps);
}

inline Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return at::gelu(at::linear(x, weight, bias));
}

template <Attention attention>
Tensor attend(const Tensor& qkv) {
  const std::int64_t batch = qkv.size(0), length = qkv.size(1), width = qkv.size(2) / 3;
  const Tensor parts = qkv.view({batch, length, 3, width / kHeadWidth, kHeadWidth}).permute({2, 0, 3, 1, 4});
  return attention(parts[0], parts[1], parts[2]).transpose(1, 2).reshape({batch, length, width});
}

template <Attention attention>
Outputs block(State& state) {
  Tensor y = region("norm1", norm, state[kX], state[kNorm1], state[kNormBias1]);
  y = region("qkv", linear, y, state[kQkv], state[kQkvBias]);
  y = region("attention", attend<attention>, y);
  const Tensor x = state[kX] + region("projection", linear, y, state[kProjection], state[kProjectionBias]);
  y = region("norm2", norm, x, state[kNorm2], state[kNormBias2]);
  y = region("up", linear_gelu, y, state[kUp], state[kUpBias]);
  return {x + region("down", linear, y, state[kDown], state[kDownBias])};
}

inline Tensor fused_attention(const Tensor& query, const Tensor& key, const Tensor& value) {
  return at::scaled_dot_product_attention(query, key, value);
}

// Multiply-adds of one run: 12 width^2 weights for each position, and two products with all positions.
inline double products(const Shape& shape) {
  const double width = static_cast<double>(shape["width"]), length = static_cast<double>(shape["length"]);
  return static_cast<double>(shape["batch"]) * length * (12.0 * width * width + 2.0 * length * width);
}

inline std::string misfit(const Shape& shape) {
  return shape["width"] % kHeadWidth == 0
             ? ""
             : "width must be a multiple of " + std::to_string(kHeadWidth) + ", the width of a head";
}

}  // namespace ampgate::cases::transformer
