#include "local_cases.h"

#include <ATen/ATen.h>

#include "cases/fills.h"

namespace ampgate::validate {
namespace {

using cases::BoundSpec;
using cases::Case;
using cases::Facts;
using cases::Family;
using cases::Fill;
using cases::Outputs;
using cases::Shape;
using cases::State;

// One input "x" of three dimensions.
Case of_x(std::string name, Outputs (*run)(State&), Facts (*facts)(const Shape&)) {
  return {.name = std::move(name),
          .dims = {"a", "b", "c"},
          .suites = {},
          .outputs = {"out"},
          .setup = [](const Shape& shape, const Fill& fill) -> State {
            return {{{"x", fill.normal("x", {shape["a"], shape["b"], shape["c"]})}}};
          },
          .run = run,
          .facts = facts};
}

const Case kBiasedLinear{
    .name = "biased_linear",
    .dims = {"rows", "in", "out"},
    .suites = {},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {shape["rows"], shape["in"]})},
               {"weight", fill.normal("weight", {shape["out"], shape["in"]})},
               {"bias", fill.normal("bias", {shape["out"]}, 8.0)}}};
    },
    .run = [](State& state) -> Outputs { return {at::linear(state[0], state[1], state[2])}; },
    .facts = [](const Shape& shape) -> Facts {
      return {.bound = {.family = Family::kInnerProduct, .length = shape["in"], .reduced = {{0, 1}, {1, 1}}}};
    }};

const Case kStridedConv{
    .name = "strided_conv",
    .dims = {"in", "out", "size"},
    .suites = {},
    .outputs = {"out"},
    .setup = [](const Shape& shape, const Fill& fill) -> State {
      return {{{"x", fill.normal("x", {2, shape["in"], shape["size"], shape["size"]})},
               {"weight", fill.normal("weight", {shape["out"], shape["in"], 5, 5})},
               {"bias", fill.normal("bias", {shape["out"]})}}};
    },
    .run = [](State& state) -> Outputs { return {at::conv2d(state[0], state[1], state[2], 2, 1)}; },
    .facts = [](const Shape& shape) -> Facts {
      return {.bound = {
                  .family = Family::kInnerProduct, .length = shape["in"] * 25, .reduced = {{0, 1}, {1, 1}}}};
    }};

}  // namespace

std::vector<LocalCase> local_cases() {
  return {
      {kBiasedLinear, {{5, 77, 11}, {3, 4096, 9}}},
      {kStridedConv, {{3, 4, 19}, {40, 8, 12}}},
      {of_x(
           "outer_softmax", [](State& s) -> Outputs { return {at::softmax(s[0], 1)}; },
           [](const Shape&) -> Facts { return {.bound = {.family = Family::kSoftmax, .dims = {1}}}; }),
       {{3, 65, 9}, {2, 700, 33}}},
      {of_x(
           "outer_log_softmax", [](State& s) -> Outputs { return {at::log_softmax(s[0], 1)}; },
           [](const Shape&) -> Facts { return {.bound = {.family = Family::kLogSoftmax, .dims = {1}}}; }),
       {{3, 65, 9}, {2, 700, 33}}},
      // Beyond 32768 elements the kernel splits a full sum among threads and stores their parts in 16 bit.
      {of_x(
           "sum_of_all", [](State& s) -> Outputs { return {s[0].sum()}; },
           [](const Shape&) -> Facts {
             return {.bound = {.family = Family::kSum, .dims = {0, 1, 2}}};
           }),
       {{3, 65, 9}, {4, 64, 100}}},
      {of_x(
           "outer_sum",
           [](State& s) -> Outputs {
             return {s[0].sum(at::IntArrayRef{0, 1}, true)};
           },
           [](const Shape&) -> Facts {
             return {.bound = {.family = Family::kSum, .dims = {0, 1}}};
           }),
       {{3, 65, 9}, {70, 64, 33}}},
      {of_x(
           "outer_mean",
           [](State& s) -> Outputs {
             return {s[0].mean(at::IntArrayRef{0, 2})};
           },
           [](const Shape&) -> Facts {
             return {.bound = {.family = Family::kMean, .dims = {0, -1}}};
           }),
       {{3, 65, 9}, {70, 33, 64}}},
      {of_x(
           "outer_cumsum", [](State& s) -> Outputs { return {s[0].cumsum(1)}; },
           [](const Shape&) -> Facts { return {.bound = {.family = Family::kCumsum, .dims = {1}}}; }),
       {{3, 65, 9}, {2, 5000, 3}}},
      {of_x(
           "plain_layer_norm",
           [](State& s) -> Outputs {
             return {at::layer_norm(s[0], {s[0].size(1), s[0].size(2)})};
           },
           [](const Shape&) -> Facts {
             return {.bound = {.family = Family::kLayerNorm, .dims = {1, 2}, .eps = 1e-5}};
           }),
       {{3, 5, 9}, {2, 64, 65}}},
  };
}

}  // namespace ampgate::validate
