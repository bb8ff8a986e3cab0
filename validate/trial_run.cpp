#include "validate/trial_run.h"

#include <functional>
#include <memory>

#include "backends/digest.h"
#include "backends/poison_allocator.h"
#include "backends/settings.h"
#include "cases/execute.h"
#include "precision/grad_scaler.h"
#include "validate/case_fault.h"
#include "validate/interceptor.h"
#include "validate/numerics.h"
#include "validate/poison.h"
#include "validate/returned.h"

namespace ampgate::validate {
namespace {

using Body = std::function<cases::Outputs(cases::State&)>;

// `like` as in check_returned.
cases::Outputs execute(const Session& session, const cases::Case& definition, const Body& body,
                       cases::State& prepared, const precision::Precision& precision,
                       const cases::Outputs& like) {
  const auto scaled = precision::scaled_without_gradient();
  cases::Outputs outputs = cases::execute(body, prepared, precision, session.backend.device().type());
  if (precision::scaled_without_gradient() != scaled) {
    throw CaseFault(
        "it uses a gradient scaler in inference, where there is no gradient: its outputs are scaled");
  }
  session.backend.synchronize();
  check_returned(definition, outputs, session.backend.device(), like);
  check_computed(definition, outputs, prepared);
  return outputs;
}

cases::Outputs execute(const Session& session, const cases::Case& definition, cases::State& prepared,
                       const precision::Precision& precision, const cases::Outputs& like) {
  return execute(session, definition, definition.run, prepared, precision, like);
}

std::unique_ptr<backends::PoisonScope> poisoned_memory(const Session& session) {
  return session.backend.device().is_cpu() ? std::make_unique<backends::PoisonScope>() : nullptr;
}

std::vector<std::string> digests_of(const cases::State& state) {
  std::vector<std::string> digests;
  for (const auto& entry : state.tensors) digests.push_back(backends::digest(entry.tensor));
  return digests;
}

// What the next run works on: copies when the run writes to its tensors.
cases::State state_for(const TrialRun& run) {
  cases::State state = run.prepared;
  if (!run.written.empty()) {
    for (auto& entry : state.tensors) entry.tensor = entry.tensor.clone();
  }
  return state;
}

// What the case's own run calls, where it is not the run that is looked at: phase 2 sees these operators.
void watch_own_run(const Session& session, const cases::Case& definition, cases::State& state,
                   const precision::Precision& precision, const TrialRun& run, Observation& observation) {
  {
    cases::OperatorRecorder operators;
    execute(session, definition, state, precision, run.outputs);
    observation.operators = operators.take();
  }
  CallRecorder calls;
  const InterceptScope intercept(calls);
  execute(session, definition, state, precision, run.outputs);
  observation.own_calls = calls.take();
}

// How many terms a library's operators add up, where the case's file says so.
std::int64_t length_of_libraries(const cases::Case& definition) {
  return definition.foreign ? definition.facts(definition.shape({})).bound.length : 0;
}

}  // namespace

std::vector<std::string> digests_of(const cases::Outputs& outputs) {
  std::vector<std::string> digests;
  for (const auto& output : outputs) digests.push_back(backends::digest(output));
  return digests;
}

TrialRun run_prepared(const Session& session, const cases::Case& definition, const cases::State& prepared,
                      const precision::Precision& precision, const cases::Outputs& like) {
  const auto scope = numerics_scope(precision);
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

cases::Outputs run_again(const Session& session, const cases::Case& definition, const TrialRun& run,
                         const precision::Precision& precision) {
  const auto scope = numerics_scope(precision);
  cases::State state = state_for(run);
  return execute(session, definition, state, precision, run.outputs);
}

Observation observe(const Session& session, const cases::Case& definition, const TrialRun& run,
                    const precision::Precision& precision) {
  const auto scope = numerics_scope(precision);
  Observation observation;
  cases::State state = state_for(run);
  if (!session.backend.device().is_cpu()) poison_free_blocks(run.outputs, session.backend.device());
  {
    const auto poisoned = poisoned_memory(session);
    observation.repeated = execute(session, definition, state, precision, run.outputs);
  }

  if (definition.observed_run) watch_own_run(session, definition, state, precision, run, observation);
  cases::OperatorRecorder operators;
  CallRecorder calls;
  std::optional<local::LocalChecks> checks;
  if (definition.model) checks.emplace(session.rules, length_of_libraries(definition));
  Inspector inspector(state, std::move(checks), definition.model ? &calls : nullptr);
  cases::Outputs observed;
  {
    // Poisoned as well: the trace shows where memory that nobody wrote comes from.
    const auto poisoned = poisoned_memory(session);
    const InterceptScope intercept(inspector.tracer());
    observed = execute(session, definition, definition.visible_run(), state, precision, run.outputs);
  }
  if (!definition.observed_run) observation.operators = operators.take();
  observation.calls = calls.take();
  observation.inspection = inspector.take(observed);
  observation.reproduced = digests_of(observed) == run.digests;
  observation.difference = spread_of(run.outputs, observed);
  return observation;
}

Inspection inspect(const Session& session, const cases::Case& definition, const TrialRun& run,
                   const precision::Precision& precision) {
  const auto scope = numerics_scope(precision);
  cases::State state = state_for(run);
  Inspector inspector(state, local::LocalChecks(session.rules, length_of_libraries(definition)));
  const InterceptScope intercept(inspector.tracer());
  return inspector.take(
      execute(session, definition, definition.visible_run(), state, precision, run.outputs));
}

}  // namespace ampgate::validate
