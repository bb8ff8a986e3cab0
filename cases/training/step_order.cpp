#include "cases/training/step_order.h"

#include <ATen/autocast_mode.h>

#include <algorithm>

namespace ampgate::cases {
namespace {

bool any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

}  // namespace

std::string optimizer_words(std::size_t optimizer) { return "optimizer " + std::to_string(optimizer); }

void StepOrder::begin(const std::vector<std::unique_ptr<Optimizer>>& optimizers) {
  stepped_.assign(optimizers.size(), false);
  step_called_ = unscaled_ = stepped_;
  ever_called_.resize(optimizers.size());
  ever_stepped_.resize(optimizers.size());
  advanced_.assign(training_.schedules.size(), false);
  ever_advanced_.resize(training_.schedules.size());
  losses_.clear();
  updates_before_.clear();
  rates_before_.clear();
  for (const auto& optimizer : optimizers) {
    updates_before_.push_back(optimizer->updates());
    rates_before_.push_back(optimizer->learning_rate());
  }
  note_zero_grad();
  updated_ = false;
}

void StepOrder::note_zero_grad() {
  had_backward_.assign(static_cast<std::size_t>(training_.micro_batches), false);
  backwards_ = 0;
}

void StepOrder::note_rate(std::size_t optimizer, double rate) {
  if (rate == rates_before_[optimizer]) return;
  for (std::size_t i = 0; i < training_.schedules.size(); ++i) {
    if (training_.schedules[i].optimizer == optimizer) ever_advanced_[i] = true;
  }
}

void StepOrder::check_end(const std::vector<std::unique_ptr<Optimizer>>& optimizers) {
  for (std::size_t i = 0; i < optimizers.size(); ++i) {
    const Optimizer& optimizer = *optimizers[i];
    note_rate(i, optimizer.learning_rate());
    const std::int64_t made = optimizer.updates() - updates_before_[i];
    if (made != (stepped_[i] ? 1 : 0)) {
      throw Misuse(optimizer_words(i) + " was stepped beside the scaler's step: " + std::to_string(made) +
                   " updates in one step of the training loop, " + (stepped_[i] ? "one" : "none") +
                   " of them the trainer's");
    }
    if (made == 0 && optimizer.learning_rate() != rates_before_[i]) {
      throw Misuse("the learning rate of " + optimizer_words(i) + " was changed although its step was " +
                   (step_called_[i] ? "skipped" : "not called") + ": it runs ahead of the updates");
    }
  }
  // One of two that take turns may stand still in this step; all of them may not.
  if (!any(step_called_)) {
    throw Misuse(optimizer_words(0) +
                 " was not stepped, nor any other: gradients were computed, and nothing was updated");
  }
  if (scaler_ && !updated_) {
    throw Misuse("the scaler's update() was not called: its scale would never back off or grow");
  }
}

void StepOrder::check_all_stepped() const {
  for (std::size_t i = 0; i < ever_called_.size(); ++i) {
    if (!ever_called_[i])
      throw Misuse(optimizer_words(i) + " was not stepped in any step: its parameters are never updated");
  }
}

std::vector<std::string> StepOrder::unused_schedules() const {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < ever_advanced_.size(); ++i) {
    const std::size_t optimizer = training_.schedules[i].optimizer;
    if (ever_advanced_[i] || !ever_stepped_[optimizer]) continue;
    unused.push_back("schedule " + std::to_string(i) + " is not advanced in any step: the learning rate of " +
                     optimizer_words(optimizer) + " stays what it is");
  }
  return unused;
}

void StepOrder::note_step(std::size_t optimizer, bool stepped) {
  stepped_[optimizer] = stepped;
  if (stepped) ever_stepped_[optimizer] = true;
}

void StepOrder::check_forward(int micro_batch) const {
  if (micro_batch < 0 || micro_batch >= training_.micro_batches) {
    throw Misuse("there is no micro-batch " + std::to_string(micro_batch) + ": an effective batch has " +
                 std::to_string(training_.micro_batches));
  }
}

void StepOrder::note_forward(const at::Tensor& loss, int micro_batch) {
  if (loss.grad_fn() != nullptr) losses_.emplace_back(loss.grad_fn().get(), micro_batch);
}

void StepOrder::check_backward(const at::Tensor& loss) {
  if (at::autocast::is_autocast_enabled(loss.device().type())) {
    throw Misuse(
        "backward inside autocast: gradients are computed in the types of the forward pass, and "
        "autocast on top changes them again; leave the scope before backward");
  }
  if (loss.numel() != 1) {
    throw Misuse("the loss is no scalar, it has " + std::to_string(loss.numel()) +
                 " elements: grad can be implicitly created only for scalar outputs");
  }
  if (!loss.requires_grad()) {
    throw Misuse("the loss has no gradient: a scaler, or backward, in inference");
  }
  if (complete()) {
    throw Misuse("backward is called more often than there are micro-batches (" +
                 std::to_string(training_.micro_batches) + "): the gradients of one would count twice");
  }
  if (any(unscaled_)) {
    throw Misuse("backward after unscale: it adds scaled gradients to unscaled ones");
  }
  // A loss that was made from others is nobody's in particular. The last one: a node may lie where one lay
  // that is gone.
  const auto found = std::find_if(losses_.rbegin(), losses_.rend(),
                                  [&](const auto& known) { return known.first == loss.grad_fn().get(); });
  if (found == losses_.rend()) return;
  const auto micro_batch = static_cast<std::size_t>(found->second);
  if (had_backward_[micro_batch]) {
    throw Misuse("micro-batch " + std::to_string(micro_batch) +
                 " has a second backward in one step, in the place of another: its gradients count twice");
  }
  had_backward_[micro_batch] = true;
}

void StepOrder::check_complete(const char* used) const {
  if (complete()) return;
  throw Misuse("gradients are " + std::string(used) + " after backward of " + std::to_string(backwards_) +
               " of " + std::to_string(training_.micro_batches) +
               " micro-batches: they are not those of the effective batch");
}

void StepOrder::check_number(std::size_t optimizer) const {
  if (optimizer >= unscaled_.size())
    throw Misuse("there is no " + optimizer_words(optimizer) + ": the training has " +
                 std::to_string(unscaled_.size()));
}

void StepOrder::check_unscale(std::size_t optimizer) const {
  check_number(optimizer);
  check_complete("unscaled");
  if (updated_) {
    throw Misuse("gradients of " + optimizer_words(optimizer) +
                 " are unscaled after update(): the scale is no longer the one that they were made with");
  }
}

void StepOrder::check_clip(std::size_t optimizer) const {
  if (scaler_ && !unscaled_[optimizer]) {
    throw Misuse("gradients of " + optimizer_words(optimizer) +
                 " are clipped before they are unscaled: the limit would be compared with scaled ones");
  }
  if (step_called_[optimizer]) {
    throw Misuse("gradients of " + optimizer_words(optimizer) +
                 " are clipped after its step: the update was made with gradients that nobody clipped");
  }
}

void StepOrder::check_step(std::size_t optimizer) const {
  check_number(optimizer);
  check_complete("stepped with");
  if (scaler_ && updated_) {
    throw Misuse(
        optimizer_words(optimizer) +
        " is stepped after update(): the scale is no longer the one that its gradients were made with");
  }
  if (!scaler_ && step_called_[optimizer])
    throw Misuse(optimizer_words(optimizer) + " is stepped twice with the same gradients");
}

void StepOrder::note_step_called(std::size_t optimizer) {
  step_called_[optimizer] = ever_called_[optimizer] = true;
}

void StepOrder::check_update() const {
  for (std::size_t i = 0; i < unscaled_.size(); ++i) {
    if (step_called_[i] || !unscaled_[i]) continue;
    throw Misuse(
        "update without step: the gradients of " + optimizer_words(i) +
        " were unscaled, and it has not been stepped; a step after update() would not know their scale");
  }
}

void StepOrder::check_schedule(std::size_t schedule) const {
  if (schedule >= advanced_.size()) {
    throw Misuse("there is no schedule " + std::to_string(schedule) + ": the training has " +
                 std::to_string(advanced_.size()));
  }
  const std::size_t optimizer = training_.schedules[schedule].optimizer;
  if (!stepped_[optimizer]) {
    throw Misuse("the schedule of " + optimizer_words(optimizer) + " advances " +
                 (step_called_[optimizer] ? "although its step was skipped" : "before its step") +
                 ": the learning rate runs ahead of the updates");
  }
  if (advanced_[schedule]) {
    throw Misuse("the schedule of " + optimizer_words(optimizer) +
                 " advances twice in one step: the learning rate runs ahead of the updates");
  }
}

}  // namespace ampgate::cases
