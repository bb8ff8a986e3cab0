// What a trainer saves, and how it is restored: all is read and checked before anything is changed.
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "cases/training/checkpoint_reader.h"
#include "cases/training/generators.h"
#include "cases/training/like.h"
#include "cases/training/trainer.h"
#include "precision/region.h"
#include "results/error.h"

namespace ampgate::cases {
namespace {

using results::Json;
using results::ObjectReader;

constexpr const char* kWeights = "weights.";
constexpr const char* kBuffers = "buffers.";
constexpr const char* kGenerators = "generators.";

std::string optimizer_prefix(std::size_t number) { return "optimizers." + std::to_string(number) + "."; }

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

Json members(const Json& object, std::initializer_list<const char*> keys) {
  Json part = Json::object();
  for (const char* key : keys) {
    if (object.contains(key)) part[key] = object.at(key);
  }
  return part;
}

// Which training, and what can be changed on purpose: in what it is computed.
Json same_training(const Json& state) { return members(state, {"case", "shape", "seed"}); }
Json same_precision(const Json& state) { return members(state, {"precision", "fp32_regions", "device"}); }
Json same_configuration(const Json& state) { return members(state, {"configuration"}); }

// Says of what `check` complains.
template <typename Check>
void within(const std::string& part, Check check) {
  try {
    check();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("the checkpoint's " + part + ": " + error.what());
  }
}

}  // namespace

struct Trainer::Restored {
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // to, from: weights and buffers
  std::vector<Optimizer::State> optimizers;
  std::vector<std::int64_t> applied;
  std::int64_t iteration = 0;
  precision::GradScaler scaler;
  GeneratorStates generators;
  Json changes;
};

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
    if (entry.role == Role::kWeight) keep(kWeights + entry.name, entry.tensor);
  }
  for (const NamedTensor* buffer : buffers()) keep(kBuffers + buffer->name, buffer->tensor);
  Json& state = checkpoint.state;
  state["iteration"] = iteration_;
  state["optimizers"] = Json::array();
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    const Optimizer::State own = optimizers_[i]->state();
    for (const auto& [name, tensor] : own.tensors) keep(optimizer_prefix(i) + name, tensor);
    state["optimizers"].push_back({{"updates", own.updates},
                                   {"learning_rate", results::number(own.learning_rate)},
                                   {"steps", own.steps}});
  }
  state["schedules"] = Json::array();
  for (const auto applied : applied_) state["schedules"].push_back({{"applied", applied}});
  if (with_scaler_) state["scaler"] = scaler_json(scaler_.state_dict());
  for (const auto& [name, tensor] : generator_states(device_)) keep(kGenerators + name, tensor);
  state["changes"] = changes_;
  return checkpoint;
}

Trainer::Restored Trainer::read(const Checkpoint& checkpoint, OtherPrecision other) const {
  const Json &state = checkpoint.state, own = identity();
  ObjectReader reader(state, kCheckpointState);
  for (const auto& [key, value] : own.items()) reader.get(key);
  reader.has("run");  // of whoever keeps it
  const bool exact = other == OtherPrecision::kRefused;
  const bool changed = same_precision(state) != same_precision(own);
  check_same(same_training(state), same_training(own));
  if (exact) check_same(same_precision(state), same_precision(own));
  check_same(same_configuration(state), same_configuration(own));

  Restored found{{}, {}, {}, 0, precision::GradScaler(device_.type(), scaler_options_), {}, Json::array()};
  CheckpointTensors tensors(checkpoint.tensors);
  const auto place = [&](const std::string& name, const at::Tensor& to) {
    found.copies.emplace_back(to, tensors.take(name));
    within("contents", [&] { check_like(name, found.copies.back().second, to, exact); });
  };
  for (const auto& entry : state_.tensors) {
    if (entry.role == Role::kWeight) place(kWeights + entry.name, entry.tensor);
  }
  for (const NamedTensor* buffer : buffers()) place(kBuffers + buffer->name, buffer->tensor);
  found.iteration = read_count(reader, "iteration");
  auto optimizers = read_objects(reader, "optimizers", optimizers_.size());
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    found.optimizers.push_back({read_count(optimizers[i], "updates", found.iteration),
                                read_number(optimizers[i], "learning_rate"),
                                read_counts(optimizers[i], "steps"), tensors.take_all(optimizer_prefix(i))});
    optimizers[i].refuse_unknown();
    within("optimizer " + std::to_string(i), [&] { optimizers_[i]->check(found.optimizers.back(), exact); });
  }
  for (auto& schedule : read_objects(reader, "schedules", applied_.size())) {
    found.applied.push_back(read_count(schedule, "applied", found.iteration));
    schedule.refuse_unknown();
  }
  found.generators = tensors.take_all(kGenerators);
  if (changed) {
    // Of another device: what both have goes on, the rest begins with this training's own.
    GeneratorStates all = generator_states(device_);
    for (auto& [name, tensor] : all) {
      if (const auto there = found.generators.find(name); there != found.generators.end())
        tensor = there->second;
    }
    found.generators = std::move(all);
  }
  within("contents", [&] { check_generator_states(found.generators, device_); });
  tensors.refuse_rest();

  const bool scaled = reader.has("scaler");
  if (exact && scaled != with_scaler_) {
    throw std::invalid_argument(std::string("the checkpoint has ") + (scaled ? "a" : "no") +
                                " gradient scaler, this training has " + (with_scaler_ ? "one" : "none"));
  }
  if (scaled && with_scaler_ && !changed) found.scaler.load_state_dict(read_scaler(reader.object("scaler")));
  if (reader.has("changes")) found.changes = reader.get("changes");
  if (!found.changes.is_array())
    reader.fail("changes", "must be an array, is " + results::described(found.changes));
  if (changed) {
    found.changes.push_back(
        {{"iteration", found.iteration}, {"from", same_precision(state)}, {"to", same_precision(own)}});
  }
  reader.refuse_unknown();
  return found;
}

void Trainer::restore(const Checkpoint& checkpoint, OtherPrecision other) {
  std::optional<Restored> found;
  try {
    found = read(checkpoint, other);
  } catch (const results::FileError& error) {
    throw std::invalid_argument(error.what());
  } catch (const precision::GradScalerError& error) {
    throw std::invalid_argument(std::string("the checkpoint's scaler: ") + error.what());
  }
  const at::NoGradGuard no_grad;
  for (auto& [to, from] : found->copies) to.copy_(from);
  for (std::size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i]->set_state(found->optimizers[i]);
  applied_ = std::move(found->applied);
  iteration_ = found->iteration;
  batches_.clear();
  scaler_ = std::move(found->scaler);
  set_generator_states(found->generators, device_);
  changes_ = std::move(found->changes);
}

}  // namespace ampgate::cases
