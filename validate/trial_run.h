// The runs of one trial: the plain one that decides, one that repeats it, one that is looked at.
#pragma once

#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/operator_recorder.h"
#include "precision/precision.h"
#include "validate/explanation.h"
#include "validate/replay.h"
#include "validate/session.h"
#include "validate/spread.h"

namespace ampgate::validate {

std::vector<std::string> digests_of(const cases::Outputs& outputs);

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

// The same call again, plainly. Where the run wrote to its tensors, on copies of them.
cases::Outputs run_again(const Session& session, const cases::Case& definition, const TrialRun& run,
                         const precision::Precision& precision);

// The same for a state that stands on the device already, in whatever layout.
TrialRun run_prepared(const Session& session, const cases::Case& definition, const cases::State& prepared,
                      const precision::Precision& precision, const cases::Outputs& like = {});

struct Observation {
  cases::Outputs repeated;  // of a second plain run, in memory full of NaN where the device is the CPU
  bool reproduced = false;  // the run under observation was bitwise equal to the first
  Spread difference{};      // of the run under observation from the first
  std::vector<cases::OperatorRecord> operators;
  std::vector<RecordedCall> calls;  // models only
  // Of the case's own run, where another one is observed; empty: it is the same.
  std::vector<RecordedCall> own_calls;
  bool own_operators = false;  // they are others than those observed
  Inspection inspection;       // operators are checked one by one in models only
};

Observation observe(const Session& session, const cases::Case& definition, const TrialRun& run,
                    const precision::Precision& precision);

// The run once more with every operator checked: what `observe` leaves out for cases that are one operator.
Inspection inspect(const Session& session, const cases::Case& definition, const TrialRun& run,
                   const precision::Precision& precision);

}  // namespace ampgate::validate
