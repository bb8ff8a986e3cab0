// A small convolutional network on hand-written digits. Weights, data and their sources:
// cases/data/README.md.
#include "cases/case.h"
#include "cases/data.h"
#include "cases/fills.h"
#include "cases/models/digits.h"
#include "cases/models/held_out.h"
#include "cases/models/layers.h"

namespace ampgate::cases {
namespace {

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

Facts facts(const Shape& shape) {
  return classifier_facts(2.0 * digits::kProducts * static_cast<double>(shape["batch"]));
}

const Registration registration{{
    .name = "digits_classifier",
    .dims = {"batch"},
    .suites = {{"smoke", {{16}}}, {"standard", {{256}}}, {"large", {{16384}}}},
    .outputs = {"scores"},
    .setup = setup,
    .run = digits::scores,
    .facts = facts,
    .model = true,
    .shape_prefix = "batch",
}};

}  // namespace
}  // namespace ampgate::cases
