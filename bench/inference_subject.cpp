#include "bench/inference_subject.h"

#include "backends/digest.h"
#include "bench/output_check.h"
#include "cases/execute.h"

namespace ampgate::bench {
namespace {

// Tensors that were not converted have the digests of the original ones.
std::vector<std::string> prepared_digests(const Common& common, const cases::State& prepared) {
  std::vector<std::string> digests = common.digests;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const at::Tensor& tensor = prepared.tensors[i].tensor;
    if (tensor.scalar_type() != common.original.tensors[i].tensor.scalar_type())
      digests[i] = backends::digest(tensor);
  }
  return digests;
}

}  // namespace

InferenceSubject::InferenceSubject(const Common& common, const Trial& trial, const backends::Backend& backend)
    : Subject(trial),
      state_(cases::prepare(common.original, *trial.precision, backend.device())),
      digests_(prepared_digests(common, state_)),
      body_(common.definition, state_, *trial.precision, backend.device().type()),
      watch_(common.definition, trial.evidence) {}

std::string InferenceSubject::begin() {
  return with_written(watch_.begin(run_calls(body_, 1)));  // primitives, workspaces, pages
}

std::string InferenceSubject::look(const Cell& cell, bool must) {
  return with_written(watch_.look(cell, must));
}

std::string InferenceSubject::check(const CheckPlan& plan) {
  for (const auto calls : check_batches(plan.seed, trial().id, plan.process, plan.calls_per_cell)) {
    if (auto problem = watch_.look(run_calls(body_, calls)); !problem.empty()) return with_written(problem);
  }
  const auto written = changed_tensor(state_, digests_);
  return written.empty() ? "" : "tensor '" + written + "' was written by the timed calls";
}

// A tensor that was written explains the problem.
std::string InferenceSubject::with_written(std::string problem) const {
  if (problem.empty()) return problem;
  const auto written = changed_tensor(state_, digests_);
  return written.empty() ? problem : "tensor '" + written + "' was written by the timed calls: " + problem;
}

results::Json InferenceSubject::answer() const {
  return {{"output_check", to_string(check_method(trial().evidence))}, {"cells_checked", watch_.cells()}};
}

}  // namespace ampgate::bench
