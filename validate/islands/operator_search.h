// The smallest set of single operator calls that must run in FP32, so that a model's outputs are finite.
// Scopes in the source cannot express such a set: it is reported, and the regions around it are tried.
#pragma once

#include <cstddef>
#include <optional>
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

struct OperatorSet {
  std::vector<std::size_t> calls;  // in order; empty: nothing heals
  int runs = 0;
};

// Adds the first bad call until the outputs are finite wherever the baseline's are, then leaves out what is
// not needed.
OperatorSet smallest_operator_set(const CaseSetup& setup, const precision::Precision& precision,
                                  const WatchedRun& baseline);

}  // namespace ampgate::validate
