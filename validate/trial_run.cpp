#include "validate/trial_run.h"

#include <optional>

#include "backends/digest.h"
#include "backends/settings.h"
#include "cases/execute.h"
#include "validate/interceptor.h"
#include "validate/poison.h"
#include "validate/returned.h"

namespace ampgate::validate {
namespace {

backends::NumericsScope numerics(const precision::Precision& precision) {
  return {precision.name == precision::baseline().name, precision.tf32};
}

// `like` as in check_returned.
cases::Outputs execute(const Session& session, const cases::Case& definition, cases::State& prepared,
                       const precision::Precision& precision, const cases::Outputs& like) {
  cases::Outputs outputs = cases::execute(definition, prepared, precision, session.backend.device().type());
  session.backend.synchronize();
  check_returned(definition, outputs, session.backend.device(), like);
  return outputs;
}

std::vector<std::string> digests_of(const cases::Outputs& outputs) {
  std::vector<std::string> digests;
  for (const auto& output : outputs) digests.push_back(backends::digest(output));
  return digests;
}

std::vector<std::string> digests_of(const cases::State& state) {
  std::vector<std::string> digests;
  for (const auto& entry : state.tensors) digests.push_back(backends::digest(entry.tensor));
  return digests;
}

}  // namespace

TrialRun run_prepared(const Session& session, const cases::Case& definition, const cases::State& prepared,
                      const precision::Precision& precision, const cases::Outputs& like) {
  const auto scope = numerics(precision);
  TrialRun run;
  run.prepared = prepared;
  run.settings = backends::read_settings();
  const auto before = digests_of(run.prepared);
  run.outputs = execute(session, definition, run.prepared, precision, like);
  run.digests = digests_of(run.outputs);
  const auto after = digests_of(run.prepared);
  for (std::size_t i = 0; i < before.size() && run.written.empty(); ++i) {
    if (after[i] != before[i]) run.written = run.prepared.tensors[i].name;
  }
  return run;
}

TrialRun run_plain(const Session& session, const cases::Case& definition, const cases::State& original,
                   const precision::Precision& precision, const cases::Outputs& like) {
  const c10::Device device = session.backend.device();
  const cases::State prepared = cases::prepare(original, precision, device);
  poison_free_blocks(like, device);
  TrialRun run = run_prepared(session, definition, prepared, precision, like);
  // The oracle must see what the run saw, not what it left.
  if (!run.written.empty()) run.prepared = cases::prepare(original, precision, device);
  return run;
}

Observation observe(const Session& session, const cases::Case& definition, const TrialRun& run,
                    const precision::Precision& precision) {
  const auto scope = numerics(precision);
  Observation observation;
  cases::State state = run.prepared;
  if (!run.written.empty()) {
    for (auto& entry : state.tensors) entry.tensor = entry.tensor.clone();
  }
  observation.repeated = execute(session, definition, state, precision, run.outputs);
  observation.repeatable = digests_of(observation.repeated) == run.digests;

  cases::OperatorRecorder operators;
  CallRecorder calls;
  cases::Outputs observed;
  {
    std::optional<InterceptScope> intercept;
    if (definition.model) intercept.emplace(calls);
    observed = execute(session, definition, state, precision, run.outputs);
  }
  observation.operators = operators.take();
  observation.calls = calls.take();
  observation.reproduced = digests_of(observed) == run.digests;
  return observation;
}

}  // namespace ampgate::validate
