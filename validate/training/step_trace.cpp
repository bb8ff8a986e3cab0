#include "validate/training/step_trace.h"

#include "validate/explanation.h"
#include "validate/finite.h"
#include "validate/interceptor.h"

namespace ampgate::validate {
namespace {

// The loss, as long as the trace needs it.
class KeepLoss : public cases::StepObserver {
 public:
  void loss(const at::Tensor& loss) override { losses_.push_back(loss); }
  const cases::Outputs& losses() const { return losses_; }

 private:
  cases::Outputs losses_;
};

FirstBad told(const BadOrigin& origin, const std::vector<TracedCall>& calls) {
  return {to_json(origin, calls), sentence(origin, calls), std::string(name_of(origin.cls))};
}

}  // namespace

TracedStep trace_step(cases::Trainer& trainer) {
  const cases::State& batch = trainer.next_batch();
  // Before the step, which may leave bad values in the weights.
  std::map<std::string, BadValue> stored;
  for (const auto& entry : batch.tensors) {
    if (auto bad = stored_bad_value(entry.tensor, entry.tensor)) stored.emplace(entry.name, *std::move(bad));
  }
  Inspector inspector(batch);
  KeepLoss keep;
  {
    const InterceptScope intercept(inspector.tracer());
    trainer.run_step(&keep);
  }
  cases::Outputs outputs = keep.losses();
  for (const auto& optimizer : trainer.optimizers()) {
    for (const auto& parameter : optimizer->parameters()) {
      if (parameter.grad().defined()) outputs.push_back(parameter.grad());
      outputs.push_back(parameter);
    }
  }
  const Inspection inspection = inspector.take(outputs);
  const BadReport report =
      find_bad_values({inspection.calls, inspection.made, std::move(stored), inspection.reached});
  TracedStep traced;
  if (report.first) traced.first = told(*report.first, inspection.calls);
  for (const auto& origin : report.swallowed) traced.swallowed.push_back(told(origin, inspection.calls));
  return traced;
}

}  // namespace ampgate::validate
