// A classifier that was trained in BF16 on the raw counts of a detector. Its first layer gives values beyond
// 65504, which BF16 holds and FP16 does not; a layer norm brings them back. Weights, data and their sources:
// cases/data/README.md.
#include <ATen/ops/layer_norm.h>
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

enum : std::size_t {
  kCounts,
  kLabels,
  kStem,
  kStemBias,
  kNorm,
  kNormBias,
  kHidden,
  kHiddenBias,
  kHead,
  kHeadBias
};
constexpr double kCountsPerLevel = 4000.0;  // as in training
constexpr double kEps = 1e-5;

State setup(const Shape& shape, const Fill& fill) {
  auto data = load_safetensors(data_file("digits.safetensors"));
  auto weights = load_safetensors(data_file("detector_classifier.safetensors"));
  const auto batch = [&](const char* table) {
    return held_out(fill, data.at(table), data.at("test"), shape["batch"]);
  };
  at::Tensor counts = batch("images").flatten(1).to(at::kFloat) * kCountsPerLevel;
  if (fill.kind() != FillKind::kOrdinary) counts = fill.normal("counts", counts.sizes());
  State state{{{"counts", counts}, {"labels", batch("labels")}}};
  add_layers(state, weights, {"stem", "norm", "hidden", "head"});
  return state;
}

// The norm stands in the layer's region: outside of it the large values would have to pass through FP16.
at::Tensor stem(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                const at::Tensor& norm_weight, const at::Tensor& norm_bias) {
  return at::layer_norm(at::linear(x, weight, bias), norm_weight.sizes(), norm_weight, norm_bias, kEps);
}

Outputs run(State& state) {
  at::Tensor x =
      region("stem", stem, state[kCounts], state[kStem], state[kStemBias], state[kNorm], state[kNormBias]);
  x = region("hidden", linear_relu, x, state[kHidden], state[kHiddenBias]);
  return {region("head", linear, x, state[kHead], state[kHeadBias])};
}

Facts facts(const Shape& shape) {
  constexpr double kProducts = 64 * 128 + 128 * 64 + 64 * 10;  // per row, of the three layers
  return classifier_facts(2.0 * kProducts * static_cast<double>(shape["batch"]));
}

const Registration registration{{
    .name = "detector_classifier",
    .dims = {"batch"},
    .suites = {{"examples", {{128}}}},
    .outputs = {"scores"},
    .setup = setup,
    .run = run,
    .facts = facts,
    .model = true,
    .shape_prefix = "batch",
}};

}  // namespace
}  // namespace ampgate::cases
