// How a trainer is restored: all is read and checked before anything is changed.
#include <ATen/core/grad_mode.h>

#include <optional>

#include "cases/training/checkpoint_reader.h"
#include "cases/training/generators.h"
#include "cases/training/like.h"
#include "cases/training/tensor_names.h"
#include "cases/training/trainer.h"
#include "results/error.h"

namespace ampgate::cases {
namespace {

using results::Json;
using results::ObjectReader;

Json members(const Json& object, std::initializer_list<const char*> keys) {
  Json part = Json::object();
  for (const char* key : keys) {
    if (object.contains(key)) part[key] = object.at(key);
  }
  return part;
}

// Which training it is, in what it is computed, which may be changed on purpose, and how it is set.
Json same_training(const Json& state) { return members(state, {"case", "shape", "seed"}); }
Json same_precision(const Json& state) { return members(state, {"precision", "fp32_regions", "device"}); }
Json same_configuration(const Json& state) { return members(state, {"configuration"}); }

precision::GradScalerState fresh_scaler(const precision::GradScalerOptions& options) {
  return {options.init_scale, options.growth_factor, options.backoff_factor, options.growth_interval, 0};
}

// More than any training has, and few enough to count on from.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 48;

// One of `changes`, as a trainer writes it.
void check_change(ObjectReader& change) {
  read_count(change, "iteration", kMostSteps);
  for (const char* key : {"from", "to"}) {
    change.get(key);
    ObjectReader identity = change.object(key);
    std::string text;
    std::vector<std::string> regions;
    for (const char* word : {"precision", "device"}) {
      identity.get(word);
      identity.read(word, text);
    }
    identity.get("fp32_regions");
    identity.read("fp32_regions", regions);
    identity.refuse_unknown();
  }
  change.refuse_unknown();
}

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
  precision::GradScalerState scaler;
  GeneratorStates generators;
  Json changes;
};

// Reads and checks all of a checkpoint, part by part.
class Trainer::StateReader {
 public:
  StateReader(const Trainer& trainer, const Checkpoint& checkpoint, OtherPrecision other)
      : trainer_(trainer),
        state_(checkpoint.state),
        own_(trainer.identity()),
        exact_(other == OtherPrecision::kRefused),
        changed_(same_precision(state_) != same_precision(own_)),
        reader_(state_, kCheckpointState),
        tensors_(checkpoint.tensors),
        found_{{}, {}, {}, 0, fresh_scaler(trainer.scaler_options_), {}, Json::array()} {}

  Restored read() {
    read_identity();
    found_.iteration = read_count(reader_, "iteration", kMostSteps);
    read_weights();
    read_optimizers();
    read_generators();
    read_scaler_state();
    read_changes();
    tensors_.refuse_rest();
    reader_.has("run");  // belongs to whoever keeps the checkpoint
    reader_.refuse_unknown();
    return std::move(found_);
  }

 private:
  void read_identity() {
    for (const auto& [key, value] : own_.items()) reader_.get(key);
    check_same(same_training(state_), same_training(own_));
    if (exact_) check_same(same_precision(state_), same_precision(own_));
    check_same(same_configuration(state_), same_configuration(own_));
  }

  void read_weights() {
    const auto place = [&](const std::string& name, const at::Tensor& to) {
      const at::Tensor& from = tensors_.take(name);
      within("contents", [&] { check_like(name, from, to, exact_); });
      found_.copies.emplace_back(to, from);
    };
    for (const auto& entry : trainer_.state_.tensors) {
      if (entry.role == Role::kWeight) place(tensor_names::kWeights + entry.name, entry.tensor);
    }
    for (const NamedTensor* buffer : trainer_.buffers())
      place(tensor_names::kBuffers + buffer->name, buffer->tensor);
  }

  void read_optimizers() {
    std::size_t number = 0;
    for (auto& entry : read_objects(reader_, "optimizers", trainer_.optimizers_.size())) {
      Optimizer::State state{read_count(entry, "updates", found_.iteration),
                             read_number(entry, "learning_rate"), read_counts(entry, "steps"),
                             tensors_.take_all(tensor_names::optimizer(number))};
      entry.refuse_unknown();
      within("optimizer " + std::to_string(number),
             [&] { trainer_.optimizers_[number]->check(state, exact_); });
      found_.optimizers.push_back(std::move(state));
      ++number;
    }
    for (auto& entry : read_objects(reader_, "schedules", trainer_.applied_.size())) {
      found_.applied.push_back(read_count(entry, "applied", found_.iteration));
      entry.refuse_unknown();
    }
  }

  void read_generators() {
    GeneratorStates there = tensors_.take_all(tensor_names::kGenerators);
    if (changed_) {
      // From another kind of device: what both have goes on, the rest begins as this training's own.
      GeneratorStates all = generator_states(trainer_.device_);
      for (auto& [name, tensor] : all) {
        if (const auto found = there.find(name); found != there.end()) tensor = found->second;
      }
      there = std::move(all);
    }
    within("contents", [&] { check_generator_states(there, trainer_.device_); });
    found_.generators = std::move(there);
  }

  void read_scaler_state() {
    const bool scaled = reader_.has("scaler");
    if (exact_ && scaled != trainer_.with_scaler_) {
      throw std::invalid_argument(std::string("the checkpoint has ") + (scaled ? "a" : "no") +
                                  " gradient scaler, this training has " +
                                  (trainer_.with_scaler_ ? "one" : "none"));
    }
    if (!scaled || !trainer_.with_scaler_ || changed_) return;
    ObjectReader reader = reader_.object("scaler");
    found_.scaler = read_scaler(reader);
    if (found_.scaler.empty() && trainer_.scaler_options_.enabled)
      reader_.fail("scaler", "is empty: it was saved from a disabled scaler");
  }

  void read_changes() {
    if (reader_.has("changes")) found_.changes = reader_.get("changes");
    if (!found_.changes.is_array())
      reader_.fail("changes", "must be an array, is " + results::described(found_.changes));
    if (reader_.has("changes")) {
      for (auto& change : read_objects(reader_, "changes", found_.changes.size())) check_change(change);
    }
    if (!changed_) return;
    found_.changes.push_back(
        {{"iteration", found_.iteration}, {"from", same_precision(state_)}, {"to", same_precision(own_)}});
  }

  const Trainer& trainer_;
  const Json& state_;
  const Json own_;
  const bool exact_;
  const bool changed_;
  ObjectReader reader_;
  CheckpointTensors tensors_;
  Restored found_;
};

void Trainer::restore(const Checkpoint& checkpoint, OtherPrecision other) {
  std::optional<Restored> found;
  try {
    found = StateReader(*this, checkpoint, other).read();
  } catch (const results::FileError& error) {
    throw std::invalid_argument(error.what());
  }
  const at::NoGradGuard no_grad;
  for (auto& [to, from] : found->copies) to.copy_(from);
  for (std::size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i]->set_state(found->optimizers[i]);
  applied_ = std::move(found->applied);
  iteration_ = found->iteration;
  // In place: what a step does must not depend on whether it is the first one after this. A step that failed
  // leaves no trace.
  if (scaler_.scale_tensor().defined()) scaler_.update(*found->scaler.scale);
  scaler_.load_state_dict(found->scaler);
  set_generator_states(found->generators, device_);
  changes_ = std::move(found->changes);
}

}  // namespace ampgate::cases
