#include "validate/scaler_trace/replay.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <memory>

#include "precision/optimizer.h"
#include "results/json.h"
#include "validate/scaler_trace/gradient.h"

namespace ampgate::validate::scaler_trace {

using precision::GradScaler;
using precision::GradScalerError;
using precision::GradScalerState;
using results::Json;

namespace {

// Holds gradients, and steps without changing anything: only whether it steps is traced.
class GradientHolder : public precision::Optimizer {
 public:
  explicit GradientHolder(std::size_t parameters) {
    for (std::size_t i = 0; i < parameters; ++i) parameters_.push_back(at::empty({0}));
  }
  const std::vector<at::Tensor>& parameters() const override { return parameters_; }
  void step() override {}

  void set(const std::vector<at::Tensor>& gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i) parameters_[i].mutable_grad() = gradients[i];
  }

 private:
  std::vector<at::Tensor> parameters_;
};

Json state_json(const GradScalerState& state) {
  Json object = Json::object();
  if (state.scale) object["scale"] = shortest(*state.scale);
  if (state.growth_factor) object["growth_factor"] = shortest(*state.growth_factor);
  if (state.backoff_factor) object["backoff_factor"] = shortest(*state.backoff_factor);
  if (state.growth_interval) object["growth_interval"] = std::to_string(*state.growth_interval);
  if (state.growth_tracker) object["_growth_tracker"] = std::to_string(*state.growth_tracker);
  return object;
}

class Player {
 public:
  explicit Player(Sequence& sequence) : scaler_(sequence.scaler) {
    for (const std::size_t count : sequence.parameters) {
      optimizers_.push_back(std::make_unique<GradientHolder>(count));
    }
  }

  Json play(const Op& op);

 private:
  void call(const Scale&) {
    asked_to_scale_ = true;
    scaler_.scale(at::ones({}));
  }
  void call(const Gradients& gradients) {
    for (std::size_t i = 0; i < optimizers_.size(); ++i) optimizers_[i]->set(gradients.of[i]);
  }
  void call(const Unscale& unscale) { scaler_.unscale_(*optimizers_[unscale.optimizer]); }
  void call(const Step& step);
  void call(const Update&) { scaler_.update(); }
  void call(const UpdateTo& update) { scaler_.update(update.scale); }
  void call(const UpdateToInt&);
  void call(const UpdateToTensor& update) { scaler_.update(update.scale); }
  void call(const Save&) { saved_ = scaler_.state_dict(); }
  void call(const Load& load) { scaler_.load_state_dict(load.state.value_or(saved_)); }
  void call(const SetGrowthFactor& set) { scaler_.set_growth_factor(set.factor); }
  void call(const SetBackoffFactor& set) { scaler_.set_backoff_factor(set.factor); }
  void call(const SetGrowthInterval& set) { scaler_.set_growth_interval(set.interval); }

  std::string error_of(const Op& op);
  void note_scale(Json& entry) const;
  Json gradients() const;

  GradScaler& scaler_;
  std::vector<std::unique_ptr<GradientHolder>> optimizers_;
  GradScalerState saved_;
  bool asked_to_scale_ = false;
  bool stepped_ = false;  // by the operation at hand
};

void Player::call(const Step& step) {
  GradientHolder& optimizer = *optimizers_[step.optimizer];
  stepped_ = step.with_closure ? scaler_.step(optimizer, [] {}) : scaler_.step(optimizer);
}

// C++ has no counterpart: the class takes no int, and what compiles is a double.
void Player::call(const UpdateToInt&) {
  if (!scaler_.is_enabled()) return;
  if (!scaler_.growth_tracker_tensor().defined()) return scaler_.update();  // which says so
  throw GradScalerError("'int' object has no attribute 'device'");
}

std::string Player::error_of(const Op& op) {
  try {
    std::visit([this](const auto& its) { call(its); }, op.call);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void Player::note_scale(Json& entry) const {
  const bool on = scaler_.is_enabled();
  const bool has_scale = on ? scaler_.scale_tensor().defined() : asked_to_scale_;
  const bool has_tracker = on ? scaler_.growth_tracker_tensor().defined() : asked_to_scale_;
  entry["scale"] = has_scale ? Json(shortest(scaler_.get_scale())) : Json();
  entry["growth_tracker"] = has_tracker ? Json(std::to_string(scaler_.get_growth_tracker())) : Json();
}

Json Player::gradients() const {
  Json all = Json::array();
  for (const auto& optimizer : optimizers_) {
    Json list = Json::array();
    for (const at::Tensor& parameter : optimizer->parameters())
      list.push_back(gradient_json(parameter.grad()));
    all.push_back(std::move(list));
  }
  return all;
}

Json Player::play(const Op& op) {
  const auto* unscale = std::get_if<Unscale>(&op.call);
  const auto* step = std::get_if<Step>(&op.call);
  Json entry{{"op", op.name}};
  if (unscale != nullptr) entry["optimizer"] = unscale->optimizer;
  if (step != nullptr) entry["optimizer"] = step->optimizer;

  stepped_ = false;
  const std::string error = error_of(op);
  note_scale(entry);
  if (step != nullptr) entry["stepped"] = stepped_;
  if (step != nullptr || unscale != nullptr) entry["gradients"] = gradients();
  if (!error.empty()) entry["error"] = error;
  return entry;
}

}  // namespace

void replay(Sequence sequence, std::ostream& out) {
  Player player(sequence);
  out << R"({"trace":[)";
  const char* separator = "";
  for (const Op& op : sequence.ops) {
    out << separator << results::to_text(player.play(op));
    separator = ",";
  }
  out << R"(],"state":)" << results::to_text(state_json(sequence.scaler.state_dict())) << '}' << std::endl;
}

}  // namespace ampgate::validate::scaler_trace
