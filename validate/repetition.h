// The same call again: several times in this process, and for single rows of a batch.
#pragma once

#include <optional>
#include <string>

#include "cases/case.h"
#include "precision/precision.h"
#include "validate/criterion.h"
#include "validate/session.h"
#include "validate/spread.h"
#include "validate/trial_run.h"
#include "validate/unwritten.h"

namespace ampgate::validate {

struct Repetition {
  int repeats = 0;                // runs beside the deciding one
  int differing = 0;              // of them, by their output's bits
  Spread spread{};                // the largest of each number over them
  double worst_margin = 0.0;      // by the criterion, of those that differed
  std::string outside{};          // why the criterion refused one of them; empty: it refused none
  UnwrittenElements unwritten{};  // of the run on poisoned memory
};

// The repetition that `observation` holds, which ran on poisoned memory, and as many more as rules.repeats
// asks for.
Repetition repeat(const Session& session, const cases::Case& definition,
                  const precision::Precision& precision, const TrialRun& run, const Observation& observation,
                  const Criterion& criterion);

struct BatchInvariance {
  std::int64_t output_dim = 0;
  std::int64_t rows = 0;       // computed alone
  Spread spread{};             // against the same rows of the whole batch
  double worst_margin = -1.0;  // of the rows alone, by the bound of the batch; negative: it was not compared
  std::string outside{};       // what is outside that bound; empty: nothing
};

// Rows (slices along the case's first independent axis: first, middle, last) computed alone. None without
// such an axis, or where it has one position only.
std::optional<BatchInvariance> batch_invariance(const Session& session, const cases::Case& definition,
                                                const cases::Facts& facts,
                                                const precision::Precision& precision, const TrialRun& run,
                                                const Criterion& criterion);

// The members of `accuracy`: repeatable_in_process, repetition, batch_invariant, batch.
void add_to(results::Json& accuracy, const Repetition& repetition);
void add_to(results::Json& accuracy, const std::optional<BatchInvariance>& batch);

}  // namespace ampgate::validate
