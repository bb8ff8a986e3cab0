// What the small models are made of: layers of a weight and a bias, and what a classifier says of itself.
#pragma once

#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include <initializer_list>
#include <map>
#include <string>

#include "cases/case.h"

namespace ampgate::cases {

// Appends "<layer>.weight" and "<layer>.bias" of each layer, in order. Throws std::out_of_range for one that
// is missing.
inline void add_layers(State& state, const std::map<std::string, at::Tensor>& weights,
                       std::initializer_list<const char*> layers) {
  for (const char* layer : layers) {
    for (const char* kind : {".weight", ".bias"}) {
      const std::string name = std::string(layer) + kind;
      state.tensors.push_back({name, weights.at(name), Role::kWeight});
    }
  }
}

inline at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, bias);
}

inline at::Tensor linear_relu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::relu(at::linear(x, weight, bias));
}

// A model whose tensor 0 are the inputs and 1 the labels, each row by itself; its output 0 are the scores.
inline Facts classifier_facts(double flops) {
  return {.flops = flops,
          .bound = {.family = Family::kModel},
          .meaning = Meaning::kScores,
          .decisions = Decisions{.output = 0, .labels = "labels"},
          .elements_read = {{1, 0.0}},
          .independent = {{0, {{0, 0}, {1, 0}}}}};
}

}  // namespace ampgate::cases
