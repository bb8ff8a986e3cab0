// What a trainer saves.
#include <algorithm>

#include "cases/training/checkpoint_reader.h"
#include "cases/training/generators.h"
#include "cases/training/tensor_names.h"
#include "cases/training/trainer.h"
#include "precision/region.h"

namespace ampgate::cases {
namespace {

using results::Json;

Json optimizer_json(const OptimizerSpec& spec, const Optimizer& optimizer) {
  Json names = Json::array();
  for (std::size_t i = 0; i < optimizer.parameters().size(); ++i) names.push_back(optimizer.name(i));
  return {{"kind", spec.kind == OptimizerKind::kSgd ? "sgd" : "adamw"},
          {"learning_rate", results::number(spec.learning_rate)},
          {"momentum", results::number(spec.momentum)},
          {"beta1", results::number(spec.beta1)},
          {"beta2", results::number(spec.beta2)},
          {"eps", results::number(spec.eps)},
          {"weight_decay", results::number(spec.weight_decay)},
          {"parameters", std::move(names)}};
}

}  // namespace

Json Trainer::identity() const {
  Json optimizers = Json::array(), schedules = Json::array();
  for (std::size_t i = 0; i < optimizers_.size(); ++i)
    optimizers.push_back(optimizer_json(training_.optimizers[i], *optimizers_[i]));
  for (const auto& spec : training_.schedules) {
    schedules.push_back(
        {{"optimizer", spec.optimizer}, {"period", spec.period}, {"gamma", results::number(spec.gamma)}});
  }
  return {{"case", definition_.name},
          {"shape", shape_.name},
          {"seed", fill_.seed()},
          {"precision", precision_.name},
          {"fp32_regions", precision::island_paths()},
          {"device", c10::DeviceTypeName(device_.type(), /*lower_case=*/true)},
          {"configuration",
           {{"batch_dim", training_.batch_dim},
            {"micro_batches", training_.micro_batches},
            {"clip_norm", results::number(training_.clip_norm)},
            {"optimizers", std::move(optimizers)},
            {"schedules", std::move(schedules)}}}};
}

std::vector<const NamedTensor*> Trainer::buffers() const {
  std::vector<const NamedTensor*> found;
  for (const auto& entry : state_.tensors) {
    const bool rows = std::any_of(training_.rows.begin(), training_.rows.end(), [&](const auto& pair) {
      return pair.first == entry.name || pair.second == entry.name;
    });
    if (entry.role != Role::kWeight && !rows) found.push_back(&entry);
  }
  return found;
}

Checkpoint Trainer::save() const {
  Checkpoint checkpoint{{}, identity()};
  const auto keep = [&](const std::string& name, const at::Tensor& tensor) {
    checkpoint.tensors[name] = tensor.detach().to(at::kCPU, tensor.scalar_type(), false, /*copy=*/true);
  };
  for (const auto& entry : state_.tensors) {
    if (entry.role == Role::kWeight) keep(tensor_names::kWeights + entry.name, entry.tensor);
  }
  for (const NamedTensor* buffer : buffers()) keep(tensor_names::kBuffers + buffer->name, buffer->tensor);
  Json& state = checkpoint.state;
  state["iteration"] = iteration_;
  state["optimizers"] = Json::array();
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    const Optimizer::State own = optimizers_[i]->state();
    for (const auto& [name, tensor] : own.tensors) keep(tensor_names::optimizer(i) + name, tensor);
    state["optimizers"].push_back({{"updates", own.updates},
                                   {"learning_rate", results::number(own.learning_rate)},
                                   {"steps", own.steps}});
  }
  state["schedules"] = Json::array();
  for (const auto applied : applied_) state["schedules"].push_back({{"applied", applied}});
  if (with_scaler_) state["scaler"] = scaler_json(scaler_.state_dict());
  for (const auto& [name, tensor] : generator_states(device_)) keep(tensor_names::kGenerators + name, tensor);
  state["changes"] = changes_;
  return checkpoint;
}

}  // namespace ampgate::cases
