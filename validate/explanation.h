// Why a trial is what it is: a run under observation is traced, every operator looked at, and what was found
// added to the judgement of the deciding run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cases/case.h"
#include "cases/operator_recorder.h"
#include "validate/first_bad.h"
#include "validate/judgement.h"
#include "validate/local/check.h"

namespace ampgate::validate {

// What one traced run leaves.
struct Inspection {
  std::vector<TracedCall> calls;
  MadeBadValues made;
  std::vector<std::size_t> reached;          // calls that left bad values in the outputs
  std::optional<local::LocalChecks> checks;  // of every operator; absent when they were not asked for
};

// Traces a run: `InterceptScope scope(inspector.tracer()); ...; inspector.take(outputs)`.
class Inspector {
 public:
  // `state`: the run's tensors, for their names. `checks`: judge every operator as well. `inner` as for
  // Tracer.
  explicit Inspector(const cases::State& state, std::optional<local::LocalChecks> checks = {},
                     Interceptor* inner = nullptr);

  Tracer& tracer() { return tracer_; }
  Inspection take(const cases::Outputs& outputs);

 private:
  Inspection inspection_;
  Tracer tracer_;
};

// What explains a trial beside its inspection.
struct Explained {
  const cases::State& original;   // FP32, as set up
  const cases::State& prepared;   // as the trial stored it
  const MadeBadValues* baseline;  // of the FP32 run; null for the baseline itself
  // Operators of the run that decides, where another one was inspected: an operator that is wrong there
  // counts only if this run calls it as well. Null: it is the same run.
  const std::vector<cases::OperatorRecord>* decisive = nullptr;
};

// Worsens the judgement by operators that are wrong themselves (`inaccurate`, or `suspect` between their
// bounds), adds a sentence to the reason of `nonfinite` and `inaccurate` trials and a finding for values that
// were swallowed. Returns the object `explanation` of the trial.
results::Json explain(const Inspection& inspection, const Explained& trial, Judgement& judgement);

}  // namespace ampgate::validate
