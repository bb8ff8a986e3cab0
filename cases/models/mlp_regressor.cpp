// A perceptron with two hidden layers that predicts the progression of diabetes from ten measurements.
// Weights, data and their sources: cases/data/README.md.
#include <ATen/ops/linear.h>

#include "cases/case.h"
#include "cases/data.h"
#include "cases/fills.h"
#include "cases/models/held_out.h"
#include "cases/models/layers.h"
#include "precision/region.h"

namespace ampgate::cases {
namespace {

using precision::region;

enum : std::size_t { kFeatures, kTargets, kFc1, kBias1, kFc2, kBias2, kFc3, kBias3 };

// Preprocessing in FP64: features standardised by the training rows' mean and deviation.
State setup(const Shape& shape, const Fill& fill) {
  auto data = load_safetensors(data_file("diabetes.safetensors"));
  auto weights = load_safetensors(data_file("mlp_regressor.safetensors"));
  const auto batch = [&](const char* table) {
    return held_out(fill, data.at(table), data.at("test"), shape["batch"]);
  };
  const at::Tensor raw = batch("features");
  const at::Tensor features =
      fill.kind() == FillKind::kOrdinary
          ? ((raw - weights.at("feature_mean")) / weights.at("feature_deviation")).to(at::kFloat)
          : fill.normal("features", raw.sizes());
  State state{{{"features", features}, {"targets", batch("targets").to(at::kFloat)}}};
  add_layers(state, weights, {"fc1", "fc2", "fc3"});
  return state;
}

at::Tensor prediction(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, bias).squeeze(1);
}

Outputs run(State& state) {
  at::Tensor x = region("fc1", linear_relu, state[kFeatures], state[kFc1], state[kBias1]);
  x = region("fc2", linear_relu, x, state[kFc2], state[kBias2]);
  return {region("fc3", prediction, x, state[kFc3], state[kBias3])};
}

Facts facts(const Shape& shape) {
  constexpr double kProducts = 10 * 64 + 64 * 64 + 64;  // per row, of the three layers
  return {.flops = 2.0 * kProducts * static_cast<double>(shape["batch"]),
          .bound = {.family = Family::kModel},
          .meaning = Meaning::kRegression,
          .targets = "targets",
          .elements_read = {{kTargets, 0.0}},
          .independent = {{0, {{kFeatures, 0}, {kTargets, 0}}}}};
}

const Registration registration{{
    .name = "mlp_regressor",
    .dims = {"batch"},
    .suites = {{"smoke", {{16}}}, {"standard", {{128}}}, {"large", {{65536}}}},
    .outputs = {"prediction"},
    .setup = setup,
    .run = run,
    .facts = facts,
    .model = true,
    .shape_prefix = "batch",
}};

}  // namespace
}  // namespace ampgate::cases
