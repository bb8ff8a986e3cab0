// Training cases whose loop is put together wrongly, one for each way to do it, compiled into the test
// workers only: `training`. What each must be called stands in tests/programs/test_training_misuse.py.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/fills.h"
#include "cases/training/trainer.h"
#include "precision/autocast.h"
#include "precision/grad_scaler.h"

namespace ampgate::cases {
namespace {

enum : std::size_t { kX, kTarget, kIn, kOut };

State setup(const Shape& shape, const Fill& fill) {
  return {{{"x", fill.normal("x", {64, shape["width"]})},
           {"target", fill.normal("target", {64, 1})},
           {"in", fill.normal("in", {8, shape["width"]}, 0.25), Role::kWeight},
           {"out", fill.normal("out", {1, 8}, 0.25), Role::kWeight}}};
}

State half_setup(const Shape& shape, const Fill& fill) {
  State state = setup(shape, fill);
  state.tensors[kIn].tensor = state[kIn].to(at::kHalf);
  return state;
}

Outputs run(State& state) { return {at::linear(at::relu(at::linear(state[kX], state[kIn])), state[kOut])}; }

at::Tensor loss(State& state) { return at::mse_loss(run(state)[0], state[kTarget]); }

at::Tensor loss_without_gradient(State& state) {
  const at::NoGradGuard no_grad;
  return loss(state);
}

// A scaler that gives its outputs back scaled, as training does with a loss.
Outputs scaled_run(State& state) {
  precision::GradScaler scaler(at::kCPU);
  return {scaler.scale(run(state)[0])};
}

void gradients(Trainer& trainer) {
  trainer.zero_grad();
  trainer.backward(trainer.forward(0));
}

void step_all(Trainer& trainer) {
  for (std::size_t i = 0; i < trainer.optimizers().size(); ++i) trainer.step(i);
}

// Each parameter in an optimizer of a scaler's own.
class ParametersOf : public precision::Optimizer {
 public:
  explicit ParametersOf(std::vector<at::Tensor> parameters) : parameters_(std::move(parameters)) {}
  const std::vector<at::Tensor>& parameters() const override { return parameters_; }
  void step() override {}

 private:
  std::vector<at::Tensor> parameters_;
};

void unscale_twice(Trainer& trainer) {
  gradients(trainer);
  trainer.unscale(0);
  trainer.unscale(0);
  step_all(trainer);
  trainer.update();
}

void unscale_after_step(Trainer& trainer) {
  gradients(trainer);
  step_all(trainer);
  trainer.unscale(0);
  trainer.update();
}

void step_twice(Trainer& trainer) {
  gradients(trainer);
  step_all(trainer);
  trainer.step(0);
  trainer.update();
}

void update_alone(Trainer& trainer) {
  gradients(trainer);
  trainer.update();
  step_all(trainer);
}

void update_between(Trainer& trainer) {
  gradients(trainer);
  trainer.step(0);
  trainer.update();
  trainer.step(1);
}

void update_forgotten(Trainer& trainer) {
  gradients(trainer);
  step_all(trainer);
}

void never_stepped(Trainer& trainer) {
  gradients(trainer);
  trainer.step(0);
}

void step_beside(Trainer& trainer) {
  standard_step(trainer);
  trainer.optimizers()[0]->step();
}

void updated_by_hand(Trainer& trainer) {
  gradients(trainer);
  {
    const at::NoGradGuard no_grad;
    const at::Tensor& weight = trainer.state()[kIn];
    weight.add_(weight.grad(), -1e-3);
  }
  step_all(trainer);
  trainer.update();
}

void updated_when_skipped(Trainer& trainer) {
  standard_step(trainer);
  const at::NoGradGuard no_grad;
  trainer.state()[kIn].mul_(0.999);  // a decay of one's own
}

void half_parameters(Trainer& trainer) {
  const at::Tensor weight = trainer.state()[kIn].detach().to(at::kHalf).requires_grad_();
  precision::GradScaler scaler(at::kCPU);
  scaler.scale((weight * weight).sum().to(at::kFloat)).backward();
  scaler.unscale_(ParametersOf({weight}));
}

void backward_in_autocast(Trainer& trainer) {
  trainer.zero_grad();
  const precision::AutocastScope scope(at::kCPU, at::kBFloat16);
  trainer.backward(trainer.forward(0));
}

void own_backward_in_autocast(Trainer& trainer) {
  trainer.zero_grad();
  const precision::AutocastScope scope(at::kCPU, at::kBFloat16);
  trainer.forward(0).backward();
}

void clip_before_unscale(Trainer& trainer) {
  gradients(trainer);
  trainer.clip();
  step_all(trainer);
  trainer.update();
}

void own_clip_before_unscale(Trainer& trainer) {
  gradients(trainer);
  {
    const at::NoGradGuard no_grad;
    at::Tensor gradient = trainer.state()[kIn].grad();
    gradient.mul_((1.0 / (gradient.norm() + 1e-6)).clamp_max(1.0));
  }
  step_all(trainer);
  trainer.update();
}

void clamp_before_unscale(Trainer& trainer) {
  gradients(trainer);
  trainer.state()[kIn].grad().clamp_(-1, 1);
  step_all(trainer);
  trainer.update();
}

// Gradients changed between backward and unscale by `change`, which no operator's name gives away.
template <void (*change)(Trainer&, at::Tensor weight)>
void changed_before_unscale(Trainer& trainer) {
  gradients(trainer);
  {
    const at::NoGradGuard no_grad;
    change(trainer, trainer.state()[kIn]);
  }
  step_all(trainer);
  trainer.update();
  if (!trainer.training().schedules.empty() && trainer.stepped()[0]) trainer.advance_schedule(0);
}

at::Tensor limited(const at::Tensor& gradient) {
  return gradient * (1.0 / (gradient.norm() + 1e-6)).clamp_max(1.0);
}

void in_its_memory(Trainer&, at::Tensor weight) {
  auto* values = weight.grad().data_ptr<float>();
  for (std::int64_t i = 0; i < weight.numel(); ++i) values[i] = std::clamp(values[i], -1.0F, 1.0F);
}
void by_item(Trainer&, at::Tensor weight) {
  weight.mutable_grad().mul_(std::min(1.0, 1.0 / weight.grad().norm().item<double>()));
}
void by_largest(Trainer&, at::Tensor weight) {
  weight.mutable_grad().mul_(at::reciprocal(weight.grad().abs().max().clamp_min(1.0)));
}
void by_another(Trainer&, at::Tensor weight) { weight.mutable_grad() = limited(weight.grad()); }
void by_data(Trainer&, at::Tensor weight) { weight.mutable_grad().set_data(limited(weight.grad())); }
void by_copy(Trainer&, at::Tensor weight) { weight.mutable_grad().copy_(weight.grad().clamp(-1, 1)); }
void by_where(Trainer&, at::Tensor weight) {
  const at::Tensor gradient = weight.grad();
  gradient.copy_(at::where(gradient.abs() > 1, gradient.sign(), gradient));
}
void by_renorm(Trainer&, at::Tensor weight) { weight.mutable_grad().renorm_(2, 0, 1.0); }
void by_noise(Trainer&, at::Tensor weight) { weight.mutable_grad().add_(at::randn_like(weight), 0.01); }
void late(Trainer& trainer, at::Tensor weight) {
  if (trainer.iteration() == 3) weight.mutable_grad().clamp_(-1, 1);
}
// Right: what is done to gradients grows with them, or is measured with the scale that they have.
void centred(Trainer&, at::Tensor weight) {
  static_cast<void>(weight.grad().norm());  // looked at
  weight.mutable_grad().sub_(weight.grad().mean());
}
void by_scaled_limit(Trainer& trainer, at::Tensor weight) {
  const double limit = 0.01 * trainer.scale();
  weight.mutable_grad().mul_((limit / (weight.grad().norm() + 1e-6)).clamp_max(1.0));
}

void updated_by_a_copy(Trainer& trainer) {
  gradients(trainer);
  {
    const at::NoGradGuard no_grad;
    at::Tensor weight = trainer.state()[kIn];
    const at::Tensor step = weight.grad() * 1e-7;
    if (step.isfinite().all().item<bool>()) weight.copy_(weight - step);
  }
  step_all(trainer);
  trainer.update();
}

void take_turns(Trainer& trainer) {
  gradients(trainer);
  trainer.step(static_cast<std::size_t>(trainer.iteration() % 2));
  trainer.update();
  if (trainer.stepped()[0]) trainer.advance_schedule(0);
}

// Each one's gradients wait for its turn.
void take_turns_and_clear_one(Trainer& trainer) {
  const auto turn = static_cast<std::size_t>(trainer.iteration() % 2);
  trainer.optimizers()[turn]->zero_grad();
  trainer.backward(trainer.forward(0));
  trainer.step(turn);
  trainer.update();
  if (trainer.stepped()[0]) trainer.advance_schedule(0);
}

void second_never_stepped(Trainer& trainer) {
  gradients(trainer);
  trainer.step(0);
  trainer.update();
}

void zeroed_every_other_time(Trainer& trainer) {
  if (trainer.iteration() % 2 == 0) trainer.zero_grad();
  trainer.backward(trainer.forward(0));
  step_all(trainer);
  trainer.update();
}

void clip_after_step(Trainer& trainer) {
  gradients(trainer);
  step_all(trainer);
  trainer.clip();
  trainer.update();
}

void schedule_twice(Trainer& trainer) {
  standard_step(trainer);
  if (trainer.stepped()[0]) trainer.advance_schedule(0);
}

// The limit is so low that every gradient is beyond it.
void clip_never(Trainer& trainer) {
  gradients(trainer);
  step_all(trainer);
  trainer.update();
}

void schedule_never(Trainer& trainer) {
  gradients(trainer);
  step_all(trainer);
  trainer.update();
}

void schedule_when_skipped(Trainer& trainer) {
  gradients(trainer);
  step_all(trainer);
  trainer.update();
  trainer.advance_schedule(0);
}

void own_schedule_when_skipped(Trainer& trainer) {
  gradients(trainer);
  step_all(trainer);
  trainer.update();
  Optimizer& optimizer = *trainer.optimizers()[0];
  optimizer.set_learning_rate(optimizer.learning_rate() * 0.9);
}

void scaler_for_every_batch(Trainer& trainer) {
  precision::GradScaler scaler(at::kCPU);
  trainer.zero_grad();
  scaler.scale(trainer.forward(0)).backward();
  for (const auto& optimizer : trainer.optimizers()) scaler.step(*optimizer);
  scaler.update();
}

void no_zero_grad(Trainer& trainer) {
  trainer.backward(trainer.forward(0));
  step_all(trainer);
  trainer.update();
}

void step_before_backward(Trainer& trainer) {
  trainer.zero_grad();
  const at::Tensor loss = trainer.forward(0);
  step_all(trainer);
  trainer.backward(loss);
  trainer.update();
}

void backward_after_unscale(Trainer& trainer) {
  trainer.zero_grad();
  trainer.backward(trainer.forward(0));
  trainer.unscale(0);
  trainer.forward(0).backward();
  step_all(trainer);
  trainer.update();
}

// Right, in another order than the standard step: nothing may be said against it.
void clip_by_hand(Trainer& trainer) {
  for (const auto& optimizer : trainer.optimizers()) {
    for (at::Tensor parameter : optimizer->parameters()) {
      if (parameter.grad().defined()) parameter.mutable_grad().zero_();
    }
  }
  trainer.backward(trainer.forward(0));
  trainer.unscale(1);
  {
    const at::NoGradGuard no_grad;
    at::Tensor gradient = trainer.state()[kOut].grad();
    gradient.mul_((1.0 / (gradient.norm() + 1e-6)).clamp_max(1.0));
  }
  trainer.step(1);
  trainer.step(0);
  trainer.update();
  if (trainer.stepped()[0]) trainer.advance_schedule(0);
}

Case sound(const std::string& name) {
  constexpr OptimizerSpec sgd{.kind = OptimizerKind::kSgd, .learning_rate = 0.01};
  OptimizerSpec in = sgd, out = sgd;
  in.parameters = {"in"};
  out.parameters = {"out"};
  return {.name = "misuse_" + name,
          .dims = {"batch", "width"},
          .suites = {{"training", {{16, 8}}}},
          .outputs = {"out"},
          .setup = setup,
          .run = run,
          .facts = [](const Shape&) -> Facts {
            return {
                .bound = {.family = Family::kModel}, .meaning = Meaning::kRegression, .targets = "target"};
          },
          .model = true,
          .training = Training{.loss = loss,
                               .optimizers = {in, out},
                               .rows = {{"x", "x"}, {"target", "target"}},
                               .clip_norm = 1,
                               .schedules = {{.optimizer = 0, .period = 1, .gamma = 0.9}}}};
}

Case with_step(const std::string& name, void (*step)(Trainer&)) {
  Case definition = sound(name);
  definition.training->step = step;
  return definition;
}

bool keeps_its_schedule(const std::string& name) {
  return name.find("schedule") != std::string::npos || name.find("none") != std::string::npos;
}

// Of the norm of their gradients.
bool keeps_its_limit(const std::string& name) {
  return name.find("clip_before") != std::string::npos || name.find("clip_never") != std::string::npos ||
         name.find("clip_after") != std::string::npos || name.find("none_by_hand") != std::string::npos;
}

std::vector<Case> all() {
  std::vector<Case> cases{
      sound("none"),
      with_step("none_by_hand", clip_by_hand),
      with_step("unscale_twice", unscale_twice),
      with_step("unscale_after_step", unscale_after_step),
      with_step("step_twice", step_twice),
      with_step("update_alone", update_alone),
      with_step("update_between", update_between),
      with_step("update_forgotten", update_forgotten),
      with_step("none_centred", changed_before_unscale<centred>),
      with_step("none_by_scaled_limit", changed_before_unscale<by_scaled_limit>),
      with_step("none_take_turns", take_turns),
      with_step("none_take_turns_and_clear_one", take_turns_and_clear_one),
      with_step("clip_in_its_memory", changed_before_unscale<in_its_memory>),
      with_step("clip_by_item", changed_before_unscale<by_item>),
      with_step("clip_by_largest", changed_before_unscale<by_largest>),
      with_step("clip_by_another", changed_before_unscale<by_another>),
      with_step("clip_by_data", changed_before_unscale<by_data>),
      with_step("clip_by_copy", changed_before_unscale<by_copy>),
      with_step("clip_by_where", changed_before_unscale<by_where>),
      with_step("clip_by_renorm", changed_before_unscale<by_renorm>),
      with_step("noise_before_unscale", changed_before_unscale<by_noise>),
      with_step("clip_late", changed_before_unscale<late>),
      with_step("updated_by_a_copy", updated_by_a_copy),
      with_step("second_never_stepped", second_never_stepped),
      with_step("zeroed_every_other_time", zeroed_every_other_time),
      with_step("clip_after_step", clip_after_step),
      with_step("none_clip_never", clip_never),
      with_step("schedule_twice", schedule_twice),
      with_step("none_schedule_never", schedule_never),
      with_step("never_stepped", never_stepped),
      with_step("step_beside", step_beside),
      with_step("updated_by_hand", updated_by_hand),
      with_step("updated_when_skipped", updated_when_skipped),
      with_step("half_parameters", half_parameters),
      with_step("backward_in_autocast", backward_in_autocast),
      with_step("own_backward_in_autocast", own_backward_in_autocast),
      with_step("clip_before_unscale", clip_before_unscale),
      with_step("own_clip_before_unscale", own_clip_before_unscale),
      with_step("clamp_before_unscale", clamp_before_unscale),
      with_step("schedule_when_skipped", schedule_when_skipped),
      with_step("own_schedule_when_skipped", own_schedule_when_skipped),
      with_step("scaler_for_every_batch", scaler_for_every_batch),
      with_step("no_zero_grad", no_zero_grad),
      with_step("step_before_backward", step_before_backward),
      with_step("backward_after_unscale", backward_after_unscale),
  };
  // These are about other things than their schedule or their limit.
  for (auto& definition : cases) {
    if (definition.training->step != nullptr && !keeps_its_schedule(definition.name))
      definition.training->schedules.clear();
    if (definition.training->step != nullptr && !keeps_its_limit(definition.name))
      definition.training->clip_norm = 0;
  }
  for (auto& definition : cases) {
    if (definition.name == "misuse_none_clip_never") definition.training->clip_norm = 1e-6;
  }
  cases.push_back(sound("negative_rate"));
  cases.back().training->optimizers[0].learning_rate = -0.01;
  cases.push_back(sound("large_batch"));
  cases.back().training->micro_batches = 5;
  cases.push_back(sound("shared_parameter"));
  cases.back().training->optimizers[1].parameters = {"out", "in"};
  cases.push_back(sound("half_model"));
  cases.back().setup = half_setup;
  cases.push_back(sound("loss_without_gradient"));
  cases.back().training->loss = loss_without_gradient;
  cases.push_back(sound("scaler_when_tried"));
  cases.back().run = scaled_run;
  cases.push_back(sound("scaler_in_inference"));
  cases.back().run = scaled_run;
  cases.back().training.reset();
  return cases;
}

const bool registered = [] {
  for (auto& definition : all()) Registration{std::move(definition)};
  return true;
}();

}  // namespace
}  // namespace ampgate::cases
