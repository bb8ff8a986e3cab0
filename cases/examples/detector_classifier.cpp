// A classifier that was trained in BF16 on the raw counts of a detector. Its first layer gives values beyond
// 65504, which BF16 holds and FP16 does not; a layer norm brings them back. Weights, data and their sources:
// cases/data/README.md.
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include "cases/case.h"
#include "cases/data.h"
#include "cases/fills.h"
#include "cases/models/held_out.h"
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
  const at::Tensor rows = held_out_rows(data.at("test"), shape["batch"]);
  at::Tensor counts = data.at("images").index_select(0, rows).flatten(1).to(at::kFloat) * kCountsPerLevel;
  if (fill.kind() != FillKind::kOrdinary) counts = fill.normal("counts", counts.sizes());
  State state{{{"counts", counts}, {"labels", data.at("labels").index_select(0, rows)}}};
  for (const char* layer : {"stem", "norm", "hidden", "head"}) {
    for (const char* kind : {".weight", ".bias"}) {
      state.tensors.push_back(
          {std::string(layer) + kind, weights.at(std::string(layer) + kind), Role::kWeight});
    }
  }
  return state;
}

// The norm stands in the layer's region: outside of it the large values would have to pass through FP16.
at::Tensor stem(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                const at::Tensor& norm_weight, const at::Tensor& norm_bias) {
  return at::layer_norm(at::linear(x, weight, bias), norm_weight.sizes(), norm_weight, norm_bias, kEps);
}

at::Tensor hidden(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::relu(at::linear(x, weight, bias));
}

at::Tensor head(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, bias);
}

Outputs run(State& state) {
  at::Tensor x =
      region("stem", stem, state[kCounts], state[kStem], state[kStemBias], state[kNorm], state[kNormBias]);
  x = region("hidden", hidden, x, state[kHidden], state[kHiddenBias]);
  return {region("head", head, x, state[kHead], state[kHeadBias])};
}

Facts facts(const Shape& shape) {
  constexpr double kProducts = 64 * 128 + 128 * 64 + 64 * 10;  // per row, of the three layers
  return {.flops = 2.0 * kProducts * static_cast<double>(shape["batch"]),
          .bound = {.family = Family::kModel},
          .meaning = Meaning::kScores,
          .decisions = Decisions{.output = 0, .labels = "labels"},
          .elements_read = {{kLabels, 0.0}},
          .independent = {{0, {{kCounts, 0}, {kLabels, 0}}}}};
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
