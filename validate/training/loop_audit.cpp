#include "validate/training/loop_audit.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "validate/call_tensors.h"
#include "validate/interceptor.h"
#include "validate/training/gradient_audit.h"
#include "validate/training/watched_run.h"

namespace ampgate::validate {
namespace {

using cases::Misuse;
using torch::jit::Stack;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_norm(std::string_view name) {
  return is_one_of(name, {"aten::norm", "aten::linalg_vector_norm", "aten::_foreach_norm"});
}

bool limits_elements(std::string_view name) {
  return is_one_of(name, {"aten::clamp_", "aten::clamp_min_", "aten::clamp_max_", "aten::clip_"});
}

bool same_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.has_storage() && b.has_storage() && a.is_alias_of(b);
}

bool holds_values(const at::Tensor& gradient) {
  return gradient.defined() && values_of(gradient).ne(0).any().item<bool>();
}

class LoopAudit : public Interceptor {
 public:
  LoopAudit(cases::Trainer& trainer, bool scaler)
      : trainer_(trainer), scaler_(scaler), gradients_audit_(trainer) {
    for (std::size_t number = 0; number < trainer.optimizers().size(); ++number) {
      const cases::Optimizer& optimizer = *trainer.optimizers()[number];
      for (std::size_t i = 0; i < optimizer.parameters().size(); ++i)
        gradients_.push_back({optimizer.name(i), optimizer.parameters()[i], number});
    }
  }

  void run_step() {
    backward_seen_ = in_backward_ = norm_seen_ = false;
    for (auto& gradient : gradients_) {
      gradient.stage = Stage::kOld;
      gradient.stale = false;
    }
    watched([&] {
      trainer_.run_step(&gradients_audit_);
      look_at_stale();
    });
  }

  void evaluate() {
    watched([&] {
      const auto scaled = precision::scaled_without_gradient();
      trainer_.evaluate();
      if (precision::scaled_without_gradient() != scaled) {
        report("a gradient scaler in inference: the model scales its outputs where nothing is trained");
      }
    });
  }

  // After all steps.
  LoopAuditResult result() const {
    trainer_.order().check_all_stepped();
    LoopAuditResult result{clipping_, trainer_.order().unused_schedules()};
    for (auto& words : gradients_audit_.unused()) result.unused.push_back(std::move(words));
    return result;
  }

  void call(const c10::OperatorHandle& op, Stack& stack) override {
    const bool backward = torch::autograd::get_current_node() != nullptr;
    if (backward && !in_backward_) begin_backward();
    in_backward_ = backward;
    if (!backward) look_at(op.schema(), stack);
    op.callBoxed(stack);
  }

 private:
  enum class Stage { kOld, kScaled, kUnscaled };
  struct Gradient {
    std::string name;
    at::Tensor parameter;
    std::size_t optimizer = 0;
    Stage stage = Stage::kOld;
    bool stale = false;  // it held that of the step before when this step's first backward began
    const at::Tensor& tensor() const { return parameter.grad(); }
  };

  // What the operators show is said first: it names the cause of what the trainer sees afterwards.
  template <typename Function>
  void watched(Function&& function) {
    try {
      const InterceptScope scope(*this);
      function();
    } catch (const std::exception&) {
      if (problem_.empty()) throw;
    }
    if (!problem_.empty()) throw Misuse(problem_);
  }

  void report(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  Gradient* gradient_in(const at::Tensor& tensor) {
    const auto found = std::find_if(gradients_.begin(), gradients_.end(), [&](const Gradient& gradient) {
      const at::Tensor& own = gradient.tensor();
      return same_memory(own.defined() ? values_of(own) : own, tensor);
    });
    return found == gradients_.end() ? nullptr : &*found;
  }

  bool is_scaled(const at::Tensor& tensor) {
    const Gradient* gradient = gradient_in(tensor);
    return scaler_ && gradient != nullptr && gradient->stage == Stage::kScaled;
  }

  void begin_backward() {
    for (const auto device : {at::kCPU, at::kCUDA}) {
      if (at::autocast::is_autocast_enabled(device)) {
        report(
            "backward inside autocast: autocast changes the types of the backward pass once more; leave "
            "its scope before backward");
      }
    }
    for (auto& gradient : gradients_) {
      const bool holds = holds_values(gradient.tensor());
      gradient.stale = holds && (gradient.stale || !backward_seen_);
      if (holds && backward_seen_ && gradient.stage == Stage::kUnscaled) {
        report("backward after the gradient of '" + gradient.name +
               "' was unscaled: it adds scaled gradients to unscaled ones");
      }
      gradient.stage = Stage::kScaled;
    }
    backward_seen_ = true;
  }

  // Where optimizers take turns, one's gradients may wait until its own turn sets them to none.
  void look_at_stale() {
    for (const auto& gradient : gradients_) {
      if (!gradient.stale || !trainer_.step_called()[gradient.optimizer]) continue;
      report("the gradient of '" + gradient.name +
             "' still holds that of the step before: zero_grad was forgotten, and gradients add up");
    }
  }

  void look_at(const c10::FunctionSchema& schema, const Stack& stack) {
    const std::string& name = schema.name();
    const auto first = stack.size() - schema.arguments().size();
    if (name.starts_with("aten::_amp_")) look_at_scaler(name, tensors_in(stack[first]));
    const bool by_number = schema.overload_name() == "Scalar";  // an average, say: no norm is in it
    for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
      const bool written = is_written(schema.arguments()[i]);
      for (const at::Tensor& tensor : tensors_in(stack[first + i])) {
        if (!written) {
          norm_seen_ = norm_seen_ || (is_norm(name) && is_scaled(tensor));
        } else if (is_scaled(tensor) && (limits_elements(name) || (norm_seen_ && !by_number))) {
          if (clipping_.empty())
            clipping_ = "the gradient of '" + gradient_in(tensor)->name + "' is clipped (" + name + ")";
        } else {
          look_at_update(name, tensor, stack, first);
        }
      }
    }
  }

  void look_at_scaler(const std::string& name, const std::vector<at::Tensor>& tensors) {
    if (name == "aten::_amp_update_scale_") {
      if (!same_memory(tensors.at(0), trainer_.scaler().scale_tensor())) {
        report(
            "another scaler than the training's is updated: one that is made anew for every batch begins "
            "with its first scale each time and never learns, and a second one scales twice");
      }
    } else {
      for (const at::Tensor& tensor : tensors) {
        Gradient* gradient = gradient_in(tensor);
        if (gradient == nullptr) continue;
        if (gradient->stage == Stage::kUnscaled)
          report("the gradient of '" + gradient->name + "' is unscaled twice");
        gradient->stage = Stage::kUnscaled;
      }
    }
  }

  void look_at_update(const std::string& name, const at::Tensor& written, const Stack& stack,
                      std::size_t first) {
    for (std::size_t i = first; i < stack.size(); ++i) {
      for (const at::Tensor& read : tensors_in(stack[i])) {
        const Gradient* gradient = is_scaled(read) ? gradient_in(read) : nullptr;
        if (gradient == nullptr || !same_memory(gradient->parameter, written)) continue;
        report("'" + gradient->name + "' is updated (" + name +
               ") with a gradient that is still scaled: a step beside the scaler's step");
      }
    }
  }

  cases::Trainer& trainer_;
  const bool scaler_;
  GradientAudit gradients_audit_;
  std::vector<Gradient> gradients_;
  std::string problem_, clipping_;
  bool backward_seen_ = false;  // in this step
  bool in_backward_ = false;
  bool norm_seen_ = false;  // of a gradient that is still scaled
};

void audit_skipped_step(const TrainingSetup& setup, const Way& way) {
  const auto trainer = setup.trainer(way, setup.session.seed, std::numeric_limits<double>::infinity());
  const std::string before = weights_digest(*trainer);
  LoopAudit(*trainer, way.scaler).run_step();
  if (weights_digest(*trainer) != before) {
    throw Misuse(
        "weights change in a step whose gradients are not finite: they are updated beside the "
        "scaler's step");
  }
}

}  // namespace

LoopAuditResult audit_loop(const TrainingSetup& setup, const Way& way) {
  const auto trainer = setup.trainer(way, setup.session.seed);
  LoopAudit audit(*trainer, way.scaler);
  for (int step = 0; step < setup.session.rules.training.updates; ++step) audit.run_step();
  audit.evaluate();
  LoopAuditResult result = audit.result();
  if (way.scaler) audit_skipped_step(setup, way);
  return result;
}

}  // namespace ampgate::validate
