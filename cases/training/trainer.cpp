#include "cases/training/trainer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <set>

#include "cases/execute.h"
#include "cases/fills.h"
#include "cases/training/generators.h"
#include "precision/autocast.h"
#include "precision/formats.h"

namespace ampgate::cases {
namespace {

bool belongs(const OptimizerSpec& spec, const std::string& weight) {
  return spec.parameters.empty() ||
         std::any_of(spec.parameters.begin(), spec.parameters.end(),
                     [&](const std::string& prefix) { return weight.rfind(prefix, 0) == 0; });
}

std::size_t number_of(const State& state, const std::string& name) {
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    if (state.tensors[i].name == name) return i;
  }
  throw std::invalid_argument("the training case has no tensor '" + name + "'");
}

std::vector<Parameter> parameters_of(const OptimizerSpec& spec, const State& state) {
  std::vector<Parameter> parameters;
  for (const auto& entry : state.tensors) {
    if (entry.role == Role::kWeight && belongs(spec, entry.name))
      parameters.push_back({entry.name, entry.tensor});
  }
  return parameters;
}

// A weight in two optimizers is unscaled twice and updated twice, without a word from anyone.
void refuse_shared_parameters(const std::vector<std::unique_ptr<Optimizer>>& optimizers) {
  std::set<std::string> seen;
  for (const auto& optimizer : optimizers) {
    for (std::size_t i = 0; i < optimizer->parameters().size(); ++i) {
      if (!seen.insert(optimizer->name(i)).second)
        throw Misuse("parameter '" + optimizer->name(i) + "' is in two optimizers");
    }
  }
}

}  // namespace

bool trains_in(const precision::Precision& precision) {
  return precision.name == precision::baseline().name ||
         (precision.mode == precision::Mode::kAutocast && !precision.islands);
}

bool needs_scaler(const precision::Precision& precision) {
  return precision.mode == precision::Mode::kAutocast && precision.type == at::kHalf;
}

Trainer::Trainer(const Case& definition, const Shape& shape, const Fill& fill, const State& original,
                 TrainerSetup setup)
    : definition_(definition),
      training_(*definition.training),
      shape_(shape),
      fill_(fill),
      precision_(setup.precision),
      with_scaler_(setup.scaler),
      scaler_options_(setup.scaler_options),
      device_(setup.device),
      whole_(prepare(original, setup.precision, setup.device)),
      state_(whole_),
      held_out_(whole_),
      scaler_(setup.device.type(), setup.scaler_options),
      order_(training_, setup.scaler) {
  for (std::size_t i = 0; i < state_.tensors.size(); ++i) {
    if (state_.tensors[i].role != Role::kWeight) continue;
    at::Tensor weight = state_.tensors[i].tensor.detach().clone();
    weight.set_requires_grad(true);
    state_.tensors[i].tensor = held_out_.tensors[i].tensor = weight;
    if (precision_.mode != precision::Mode::kCast && precision::is_16_bit(weight.scalar_type())) {
      throw Misuse(
          "weight '" + state_.tensors[i].name + "' is " + precision::type_name(weight.scalar_type()) +
          " as it was set up: a half model, whose updates are lost in 16 bit, inside autocast too, and "
          "whose gradients a scaler refuses; set weights up in FP32");
    }
  }
  for (const auto& [rows, held_out] : training_.rows) {
    const std::size_t number = number_of(state_, rows);
    row_tensors_.push_back(number);
    held_out_.tensors[number].tensor = whole_.tensors[number_of(whole_, held_out)].tensor;
  }
  refuse_large_batch();
  for (const auto& spec : training_.optimizers) {
    auto parameters = parameters_of(spec, state_);
    if (const std::string fault = fault_of(spec, parameters.size()); !fault.empty())
      throw Misuse(optimizer_words(optimizers_.size()) + ": " + fault);
    optimizers_.push_back(std::make_unique<Optimizer>(spec, std::move(parameters)));
  }
  refuse_shared_parameters(optimizers_);
  applied_.resize(training_.schedules.size());
  begin_step(nullptr);
  seed_generators(fill_.seed(), device_);
}

void Trainer::cut_batch(std::int64_t iteration, int micro_batch, std::vector<at::Tensor>& rows) const {
  const std::int64_t size = shape_[training_.batch_dim];
  const std::int64_t all = whole_[row_tensors_.front()].size(0);
  const std::string stream = "rows." + std::to_string(iteration) + "." + std::to_string(micro_batch);
  at::Tensor numbers = fill_.integers(stream, {size}, 0, all);
  for (const std::size_t number : row_tensors_) {
    const at::Tensor& table = whole_[number];
    rows.push_back(table.index_select(0, numbers.to(table.device())));
  }
}

void Trainer::load_batches(std::int64_t steps) {
  const auto loaded = static_cast<std::int64_t>(batches_.size()) / training_.micro_batches;
  if (batches_from_ <= iteration_ && iteration_ + steps <= batches_from_ + loaded) return;
  const at::NoGradGuard no_grad;
  batches_.clear();
  batches_from_ = iteration_;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (int micro = 0; micro < training_.micro_batches; ++micro) {
      batches_.emplace_back();
      cut_batch(iteration_ + step, micro, batches_.back());
    }
  }
}

// Rows are drawn with repetition: no error would say that the batch is not what it is called.
void Trainer::refuse_large_batch() const {
  const std::int64_t wanted = shape_[training_.batch_dim] * training_.micro_batches;
  for (const std::size_t number : row_tensors_) {
    const std::int64_t rows = whole_[number].size(0);
    if (wanted <= rows) continue;
    throw Misuse("an effective batch has " + std::to_string(wanted) + " rows, and '" +
                 whole_.tensors[number].name + "' only " + std::to_string(rows) + ": give a smaller " +
                 training_.batch_dim);
  }
}

void Trainer::begin_step(StepObserver* observer) {
  observer_ = observer;
  order_.begin(optimizers_);
  in_forward_ = false;
}

void Trainer::run_step(StepObserver* observer) {
  load_batches(1);
  const at::AutoGradMode grad(true);
  begin_step(observer);
  (training_.step == nullptr ? standard_step : training_.step)(*this);
  order_.check_end(optimizers_);
  applied_steps_ += order_.applied() ? 1 : 0;
  ++iteration_;
  observer_ = nullptr;
}

void Trainer::compute_gradients() {
  load_batches(1);
  const at::AutoGradMode grad(true);
  begin_step(nullptr);
  zero_grad();
  for (int micro = 0; micro < training_.micro_batches; ++micro) backward(forward(micro));
  for (std::size_t i = 0; i < optimizers_.size(); ++i) unscale(i);
}

void Trainer::zero_grad() {
  for (const auto& optimizer : optimizers_) optimizer->zero_grad();
  order_.note_zero_grad();
}

const State& Trainer::next_batch() {
  load_batches(1);
  place_rows(0);
  return state_;
}

std::vector<at::Tensor> Trainer::weights() const {
  std::vector<at::Tensor> weights;
  for (const auto& entry : state_.tensors) {
    if (entry.role == Role::kWeight) weights.push_back(entry.tensor);
  }
  return weights;
}

void Trainer::place_rows(int micro_batch) {
  const auto at =
      static_cast<std::size_t>((iteration_ - batches_from_) * training_.micro_batches + micro_batch);
  for (std::size_t i = 0; i < row_tensors_.size(); ++i)
    state_.tensors[row_tensors_[i]].tensor = batches_.at(at)[i];
}

at::Tensor Trainer::forward(int micro_batch) {
  order_.check_forward(micro_batch);
  place_rows(micro_batch);
  at::Tensor loss;
  in_forward_ = true;
  if (precision_.mode == precision::Mode::kAutocast) {
    const precision::AutocastScope scope(whole_[row_tensors_.front()].device().type(), precision_.type);
    loss = training_.loss(state_);
  } else {
    loss = training_.loss(state_);
  }
  in_forward_ = false;
  if (observer_ != nullptr) observer_->loss(loss);
  if (training_.micro_batches > 1) loss = loss / training_.micro_batches;
  order_.note_forward(loss, micro_batch);
  return loss;
}

void Trainer::backward(const at::Tensor& loss) {
  order_.check_backward(loss);
  if (with_scaler_) {
    scaler_.scale(loss).backward();
  } else {
    loss.backward();
  }
  order_.note_backward();
  if (order_.complete() && observer_ != nullptr) observer_->scaled_gradients();
}

void Trainer::unscale(std::size_t optimizer) {
  order_.check_unscale(optimizer);
  if (with_scaler_) scaler_.unscale_(*optimizers_[optimizer]);
  order_.note_unscale(optimizer);
  if (observer_ != nullptr) observer_->gradients(optimizer);
}

// torch.nn.utils.clip_grad_norm_ with error_if_nonfinite=False: the host reads nothing.
void Trainer::clip() {
  const at::NoGradGuard no_grad;
  order_.note_clip();
  std::vector<at::Tensor> gradients, norms;
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    order_.check_clip(i);
    for (const auto& parameter : optimizers_[i]->parameters()) {
      if (!parameter.grad().defined()) continue;
      gradients.push_back(parameter.grad());
      norms.push_back(at::linalg_vector_norm(gradients.back()));
    }
  }
  if (gradients.empty()) return;
  const at::Tensor factor =
      (training_.clip_norm / (at::linalg_vector_norm(at::stack(norms)) + 1e-6)).clamp_max(1.0);
  for (auto& gradient : gradients) gradient.mul_(factor);
}

bool Trainer::step(std::size_t optimizer) {
  order_.check_step(optimizer);
  if (!order_.unscaled(optimizer)) unscale(optimizer);
  if (observer_ != nullptr) observer_->stepping(optimizer);
  order_.note_step_called(optimizer);
  bool stepped = true;
  if (with_scaler_) {
    stepped = scaler_.step(*optimizers_[optimizer]);
  } else {
    optimizers_[optimizer]->step();
  }
  order_.note_step(optimizer, stepped);
  return stepped;
}

void Trainer::update() {
  if (!with_scaler_) return;
  order_.check_update();
  scaler_.update();
  order_.note_update();
}

void Trainer::advance_schedule(std::size_t schedule) {
  order_.check_schedule(schedule);
  order_.note_schedule(schedule);
  const ScheduleSpec& spec = training_.schedules[schedule];
  if (++applied_[schedule] % spec.period != 0) return;
  Optimizer& optimizer = *optimizers_[spec.optimizer];
  optimizer.set_learning_rate(optimizer.learning_rate() * spec.gamma);
}

Outputs Trainer::evaluate() {
  const at::NoGradGuard no_grad;
  return execute(definition_, held_out_, precision_, held_out_[row_tensors_.front()].device().type());
}

void standard_step(Trainer& trainer) {
  trainer.zero_grad();
  for (int micro = 0; micro < trainer.training().micro_batches; ++micro)
    trainer.backward(trainer.forward(micro));
  const std::size_t optimizers = trainer.optimizers().size();
  for (std::size_t i = 0; i < optimizers; ++i) trainer.unscale(i);
  if (trainer.training().clip_norm > 0) trainer.clip();
  for (std::size_t i = 0; i < optimizers; ++i) trainer.step(i);
  trainer.update();
  for (std::size_t i = 0; i < trainer.training().schedules.size(); ++i) {
    if (trainer.stepped()[trainer.training().schedules[i].optimizer]) trainer.advance_schedule(i);
  }
}

}  // namespace ampgate::cases
