// `ampgate reproduce` from a checkpoint: one batch of a training again, or as many steps as are asked for,
// held against what the record says of them.
#pragma once

#include "driver/context.h"
#include "driver/options.h"
#include "results/error.h"
#include "results/json.h"

namespace ampgate::driver {

// Does the trial go on from a checkpoint: one that the options name, or the one before its bad batch?
// `device` is the record's; on one of another kind that batch does not come out the same.
bool resumes(const Options& options, const results::Json& recorded, const std::string& device);

// The trial under the precision that the options ask for. Throws results::UsageError for an unknown one and
// for a trial that trains nothing.
Trial resumed_trial(const Options& options, const results::Json& recorded, Trial trial,
                    const std::vector<std::string>& precisions);

// `context` has that one trial; `same_build`: its workers are of the record's build. Throws
// results::FileError for a checkpoint that is not there.
results::ExitCode resume_training(const Options& options, const results::Json& recorded, bool same_build,
                                  Context& context);

}  // namespace ampgate::driver
