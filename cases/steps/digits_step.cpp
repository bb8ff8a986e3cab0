#include "cases/steps/digits_step.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ones.h>

#include <cmath>

#include "cases/data.h"
#include "cases/fills.h"
#include "cases/models/digits.h"

namespace ampgate::cases {
namespace {

// Rows of the dataset that are not held out, in order.
at::Tensor training_rows(const at::Tensor& test, std::int64_t rows) {
  return at::ones({rows}, at::kBool).index_fill(0, test, false).nonzero().flatten();
}

void add_weights(State& state, const Fill& fill) {
  add_random_layer(state, fill, "conv1", {16, 1, 3, 3});
  add_random_layer(state, fill, "conv2", {32, 16, 3, 3});
  add_random_layer(state, fill, "fc1", {64, 512});
  add_random_layer(state, fill, "fc2", {10, 64});
}

State setup(const Shape&, const Fill& fill) { return digits_state(fill, add_weights); }

at::Tensor loss(State& state) {
  return at::cross_entropy_loss(digits::scores(state)[0], state[digits::kLabels]);
}

// Forward, and backward to weights and inputs, but for the first layer's inputs.
Facts facts(const Shape& shape) {
  const double products = 3 * digits::kProducts - digits::kFirstProduct;
  return classifier_facts(2.0 * products * static_cast<double>(shape["batch"]));
}

}  // namespace

void add_random_layer(State& state, const Fill& fill, const std::string& name,
                      const std::vector<std::int64_t>& sizes) {
  std::int64_t fan_in = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) fan_in *= sizes[i];
  const double limit = 1 / std::sqrt(static_cast<double>(fan_in));
  state.tensors.push_back(
      {name + ".weight", fill.uniform(name + ".weight", sizes, -limit, limit), Role::kWeight});
  state.tensors.push_back(
      {name + ".bias", fill.uniform(name + ".bias", {sizes[0]}, -limit, limit), Role::kWeight});
}

// Preprocessing: grey levels 0 to 16 become 0 to 1.
State digits_state(const Fill& fill, void (*add)(State&, const Fill&)) {
  const auto data = load_safetensors(data_file("digits.safetensors"));
  const at::Tensor& test = data.at("test");
  const at::Tensor train = training_rows(test, data.at("labels").size(0));
  const at::Tensor images = data.at("images").unsqueeze(1).to(at::kFloat) / 16;
  const at::Tensor& labels = data.at("labels");
  State state{{{"images", images.index_select(0, train)}, {"labels", labels.index_select(0, train)}}};
  add(state, fill);
  state.tensors.push_back({"held_out_images", images.index_select(0, test)});
  state.tensors.push_back({"held_out_labels", labels.index_select(0, test)});
  return state;
}

Case digits_step(std::string name, Training training) {
  // One effective batch has as many rows in every case.
  const std::int64_t micro_batches = training.micro_batches;
  training.loss = loss;
  training.rows = {{"images", "held_out_images"}, {"labels", "held_out_labels"}};
  return {.name = std::move(name),
          .dims = {"batch"},
          .suites = {{"training", {{32 / micro_batches}}}, {"large", {{512 / micro_batches}}}},
          .outputs = {"scores"},
          .setup = setup,
          .run = digits::scores,
          .facts = facts,
          .model = true,
          .shape_prefix = "batch",
          .training = std::move(training)};
}

}  // namespace ampgate::cases
