// The gate as this worker keeps it: rebuilds a case, looks at everything itself, and lets through what the
// evidence fits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "bench/plan.h"
#include "bench/subject.h"
#include "results/verdict.h"

namespace ampgate::bench {

struct TurnedAway {
  const Trial* trial = nullptr;
  results::MeasurementVerdict verdict =
      results::MeasurementVerdict::kRefused;  // or kCrashed: the set-up threw
  std::string reason;
};

struct Admission {
  std::unique_ptr<Common> common;  // null when this build has no such case
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<TurnedAway> turned_away;
};

// Threads that the group's case wants; empty: those of the run.
std::optional<int> threads_of(const Group& group);

// Never throws for a trial. Trials whose baseline stands in the group and is turned away are turned away with
// it. The caller holds an at::NoGradGuard.
Admission admit(const Plan& plan, const Group& group, const backends::Backend& backend);

}  // namespace ampgate::bench
