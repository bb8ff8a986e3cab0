#include "validate/islands/operator_search.h"

#include <algorithm>

#include "cases/execute.h"
#include "validate/compare.h"
#include "validate/islands/minimal_set.h"
#include "validate/islands/operator_islands.h"

namespace ampgate::validate {
namespace {

bool same_masks(const cases::Outputs& outputs, const cases::Outputs& baseline) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Cost cost = precision_cost(outputs[i], baseline[i]);
    if (!cost.problem.empty() || cost.nan_mismatch + cost.inf_mismatch > 0) return false;
  }
  return true;
}

bool turns_nonfinite(const TracedCall& call) { return call.finite_inputs() && !call.finite_outputs(); }

}  // namespace

WatchedRun watched_run(const Session& session, const cases::Case& definition, const cases::State& original,
                       const precision::Precision& precision, const std::vector<std::size_t>& in_fp32) {
  cases::State state = cases::prepare(original, precision, session.backend.device());
  Tracer tracer;
  OperatorIslands islands({in_fp32.begin(), in_fp32.end()}, tracer);
  WatchedRun run;
  {
    const InterceptScope intercept(islands);
    run.outputs = cases::execute(definition, state, precision, session.backend.device().type());
  }
  session.backend.synchronize();
  run.calls = tracer.take();
  for (const auto& call : run.calls) {
    for (const auto& output : call.outputs) {
      if (output.type == precision.type) run.largest = std::max(run.largest, output.values.largest);
    }
  }
  return run;
}

std::optional<std::size_t> first_bad(const WatchedRun& run, const WatchedRun& baseline) {
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    if (!turns_nonfinite(run.calls[i])) continue;
    const bool same_call = i < baseline.calls.size() && baseline.calls[i].name == run.calls[i].name;
    if (same_call && turns_nonfinite(baseline.calls[i])) continue;  // on purpose: a mask of -inf
    return i;
  }
  return {};
}

OperatorSet smallest_operator_set(const CaseSetup& setup, const precision::Precision& precision,
                                  const WatchedRun& baseline) {
  OperatorSet result;
  const auto run = [&](const std::vector<std::size_t>& set) {
    ++result.runs;
    return watched_run(setup.session, setup.definition, setup.original, precision, set);
  };
  std::vector<std::size_t> set;
  for (;;) {
    const WatchedRun tried = run(set);
    if (same_masks(tried.outputs, baseline.outputs)) break;
    const auto bad = first_bad(tried, baseline);
    if (!bad || std::find(set.begin(), set.end(), *bad) != set.end()) return result;
    set.push_back(*bad);
  }
  const Heals<std::size_t> heals = [&](const auto& smaller) {
    return same_masks(run(smaller).outputs, baseline.outputs);
  };
  result.calls = prune(std::move(set), heals);
  std::sort(result.calls.begin(), result.calls.end());
  return result;
}

}  // namespace ampgate::validate
