// The smallest set of single operator calls that must run in FP32, so that a model's outputs are finite.
// Scopes in the source cannot express such a set: it is reported, and the regions around it are tried.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "validate/case_setup.h"
#include "validate/trace.h"

namespace ampgate::validate {

// One run of the case on `original` in `precision`, with the numbered calls in FP32 and every call watched.
struct WatchedRun {
  cases::Outputs outputs;
  std::vector<TracedCall> calls;
  double largest = 0.0;  // largest finite value of a result in the precision's own type
};
WatchedRun watched_run(const Session& session, const cases::Case& definition, const cases::State& original,
                       const precision::Precision& precision, const std::vector<std::size_t>& in_fp32 = {});

// The first call that turns finite arguments into a result that is not, where the FP32 baseline's same call
// does not.
std::optional<std::size_t> first_bad(const WatchedRun& run, const WatchedRun& baseline);

// The nearest calls that `wanted` takes among those that made the operands of call `number`, looking past the
// others.
std::vector<std::size_t> producers(const std::vector<TracedCall>& calls, std::size_t number,
                                   const std::function<bool(const TracedCall&)>& wanted);

struct OperatorSet {
  std::vector<std::size_t> calls;  // in order; empty: none was found
  std::string problem;             // why none was found
  int runs = 0;
};

// Adds the first bad call, or, where that one is bad in FP32 too, what made its operands (which may have
// underflowed), until the outputs are finite wherever the baseline's are. Then leaves out what is not needed.
OperatorSet smallest_operator_set(const CaseSetup& setup, const precision::Precision& precision,
                                  const WatchedRun& baseline);

}  // namespace ampgate::validate
