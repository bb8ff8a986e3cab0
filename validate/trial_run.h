// The runs of one trial: the plain one that decides, one that repeats it, one that is looked at.
#pragma once

#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/operator_recorder.h"
#include "precision/precision.h"
#include "validate/replay.h"
#include "validate/session.h"

namespace ampgate::validate {

struct TrialRun {
  cases::State prepared;
  cases::Outputs outputs;
  std::vector<std::string> digests;  // of the outputs
  backends::Fields settings;         // as they were during the run
  std::string written;               // name of a tensor of the state that the run changed; empty: none
};

// Prepares the state (anew afterwards, if the run wrote to it) and runs once, with nothing hooked in, on free
// blocks that were poisoned for outputs of these sizes
// (`like` may be empty). What a kernel throws passes through.
TrialRun run_plain(const Session& session, const cases::Case& definition, const cases::State& original,
                   const precision::Precision& precision, const cases::Outputs& like);

// The same for a state that stands on the device already, in whatever layout.
TrialRun run_prepared(const Session& session, const cases::Case& definition, const cases::State& prepared,
                      const precision::Precision& precision, const cases::Outputs& like = {});

struct Observation {
  cases::Outputs repeated;  // of a second plain run
  bool repeatable = false;  // it was bitwise equal to the first
  bool reproduced = false;  // so was the run under observation
  std::vector<cases::OperatorRecord> operators;
  std::vector<RecordedCall> calls;  // models only
};

Observation observe(const Session& session, const cases::Case& definition, const TrialRun& run,
                    const precision::Precision& precision);

}  // namespace ampgate::validate
