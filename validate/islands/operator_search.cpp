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

}  // namespace

WatchedRun watched_run(const Session& session, const cases::Case& definition, const cases::State& original,
                       const precision::Precision& precision, const std::vector<std::size_t>& in_fp32) {
  cases::State state = cases::prepare(original, precision, session.backend.device());
  Watch watch(precision.type);
  OperatorIslands islands({in_fp32.begin(), in_fp32.end()}, watch);
  WatchedRun run;
  {
    const InterceptScope intercept(islands);
    run.outputs = cases::execute(definition, state, precision, session.backend.device().type());
  }
  session.backend.synchronize();
  run.calls = watch.calls();
  run.largest = watch.largest();
  return run;
}

std::optional<std::size_t> first_bad(const WatchedRun& run, const WatchedRun& baseline) {
  for (std::size_t i = 0; i < run.calls.size(); ++i) {
    if (!run.calls[i].turned_nonfinite) continue;
    const bool same_call = i < baseline.calls.size() && baseline.calls[i].name == run.calls[i].name;
    if (same_call && baseline.calls[i].turned_nonfinite) continue;  // on purpose: a mask of -inf
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
