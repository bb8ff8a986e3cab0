// The gate as this worker keeps it: rebuilds a case, looks at everything itself, and lets through what the
// evidence fits.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "bench/cell.h"
#include "bench/plan.h"
#include "cases/case.h"
#include "results/verdict.h"

namespace ampgate::bench {

// A trial that may run, its state prepared for its precision and device.
struct Subject {
  const Trial* trial = nullptr;
  cases::State state;
  std::vector<std::string> digests;  // of the state's tensors before the first call
};

struct TurnedAway {
  const Trial* trial = nullptr;
  results::MeasurementVerdict verdict =
      results::MeasurementVerdict::kRefused;  // or kCrashed: the set-up threw
  std::string reason;
};

struct Admission {
  const cases::Case* definition = nullptr;  // null when this build has no such case
  std::vector<Subject> subjects;
  std::vector<TurnedAway> turned_away;

  Body body(Subject& subject, const backends::Backend& backend) const {
    return {definition, &subject.state, subject.trial->precision, backend.device().type()};
  }
};

// Never throws for a trial. Trials whose baseline stands in the group and is turned away are turned away with
// it. The caller holds an at::NoGradGuard.
Admission admit(const Plan& plan, const Group& group, const backends::Backend& backend);

}  // namespace ampgate::bench
