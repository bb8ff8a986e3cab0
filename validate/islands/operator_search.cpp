#include "validate/islands/operator_search.h"

#include <algorithm>
#include <set>

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

constexpr std::size_t kMostCalls = 32;  // of a set: each costs a run to find and one to leave out

bool turns_nonfinite(const TracedCall& call) { return call.finite_inputs() && !call.finite_outputs(); }

bool contains(const std::vector<std::size_t>& set, std::size_t call) {
  return std::find(set.begin(), set.end(), call) != set.end();
}

}  // namespace

WatchedRun watched_run(const Session& session, const cases::Case& definition, const cases::State& original,
                       const precision::Precision& precision, const std::vector<std::size_t>& in_fp32) {
  cases::State state = cases::prepare(original, precision, session.backend.device());
  Tracer tracer;
  OperatorIslands islands({in_fp32.begin(), in_fp32.end()}, tracer);
  WatchedRun run;
  {
    const InterceptScope intercept(islands);
    run.outputs = cases::execute(definition.visible_run(), state, precision, session.backend.device().type());
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

std::vector<std::size_t> producers(const std::vector<TracedCall>& calls, std::size_t number,
                                   const std::function<bool(const TracedCall&)>& wanted) {
  std::set<std::size_t> seen{number};
  std::vector<std::size_t> found;
  for (std::vector<std::size_t> open{number}; !open.empty();) {
    const TracedCall& call = calls[open.back()];
    open.pop_back();
    for (const auto& input : call.inputs) {
      const auto writer = input.ignored ? std::nullopt : input.last_writer;
      if (!writer || !seen.insert(*writer).second) continue;
      (wanted(calls[*writer]) ? found : open).push_back(*writer);
    }
  }
  return found;
}

OperatorSet smallest_operator_set(const CaseSetup& setup, const precision::Precision& precision,
                                  const WatchedRun& baseline) {
  OperatorSet result;
  const auto run = [&](const std::vector<std::size_t>& set) {
    ++result.runs;
    return watched_run(setup.session, setup.definition, setup.original, precision, set);
  };
  const WatchedRun plain = run({});
  std::vector<std::size_t> set;
  for (WatchedRun tried = plain; !same_masks(tried.outputs, baseline.outputs); tried = run(set)) {
    const auto bad = first_bad(tried, baseline);
    std::vector<std::size_t> more;
    if (bad && !contains(set, *bad)) {
      more = {*bad};
    } else if (bad) {
      // In `tried` a call in FP32 reads copies that no operator made.
      more = producers(plain.calls, *bad,
                       [&](const TracedCall& call) { return !call.view && !contains(set, call.index); });
    }
    if (more.empty() || set.size() + more.size() > kMostCalls) {
      result.problem = !bad ? "no operator turns finite values into infinite ones or NaN"
                            : "operator " + std::to_string(*bad) + ", " + tried.calls[*bad].name +
                                  ", is not finite though it and " + std::to_string(set.size() - 1) +
                                  " operators before it run in FP32";
      return result;
    }
    set.insert(set.end(), more.begin(), more.end());
  }
  const Heals<std::size_t> heals = [&](const auto& smaller) {
    return same_masks(run(smaller).outputs, baseline.outputs);
  };
  result.calls = prune(std::move(set), heals);
  std::sort(result.calls.begin(), result.calls.end());
  return result;
}

}  // namespace ampgate::validate
