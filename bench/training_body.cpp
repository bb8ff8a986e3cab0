#include "bench/training_body.h"

#include <algorithm>

namespace ampgate::bench {

TrainingBody::TrainingBody(std::unique_ptr<cases::Trainer> trainer, const precision::Precision& precision,
                           c10::DeviceType device, StepWindow window)
    : Body(precision, device), trainer_(std::move(trainer)), window_(window), start_(trainer_->save()) {}

cases::Outputs TrainingBody::call() {
  trainer_->run_step();
  return {};
}

// Other trainings may have drawn from the generators since this one was set up.
void TrainingBody::warm_up() {
  trainer_->restore(start_);
  while (trainer_->iteration() < window_.first) trainer_->run_step();
}

void TrainingBody::prepare(std::int64_t calls) {
  if (!in_window_) {
    if (position() != 0 || window_.first == 0) warm_up();
    start_ = trainer_->save();
    in_window_ = true;
  }
  trainer_->restore(start_);
  trainer_->load_batches(calls);
  trainer_->next_batch();  // in place of the last one, whose memory no call shall give back
}

std::int64_t TrainingBody::most_calls() const {
  std::int64_t calls = window_.steps - 1;
  while (calls > 1 && calls + lead_in_calls(calls) > window_.steps) --calls;
  return calls;
}

std::optional<std::int64_t> TrainingBody::updates() const { return trainer_->applied_steps(); }

cases::Outputs TrainingBody::left_by_call(const cases::Outputs&) const {
  cases::Outputs gradients;
  for (const auto& optimizer : trainer_->optimizers()) {
    for (const auto& parameter : optimizer->parameters()) {
      if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    }
  }
  return gradients;
}

void TrainingBody::release() { trainer_->zero_grad(); }

bool TrainingBody::owns(const void* storage) const {
  const auto& tensors = trainer_->state().tensors;
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const auto& entry) { return entry.tensor.storage().data() == storage; });
}

Holdings TrainingBody::holdings() const {
  Holdings bytes{.optimizer = 0};
  for (const auto& entry : trainer_->state().tensors) {
    if (entry.role == cases::Role::kWeight) bytes.weights += static_cast<std::int64_t>(entry.tensor.nbytes());
  }
  for (const auto& [rows, held_out] : trainer_->training().rows) {
    bytes.inputs += trainer_->training().micro_batches *
                    static_cast<std::int64_t>(trainer_->state().find(rows)->nbytes());
  }
  for (const auto& optimizer : trainer_->optimizers()) *bytes.optimizer += optimizer->moment_bytes();
  return bytes;
}

std::int64_t TrainingBody::found_inf_reads() const {
  return trainer_->scales_gradients() ? std::ssize(trainer_->optimizers()) : 0;
}

}  // namespace ampgate::bench
