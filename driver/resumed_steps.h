// What steps taken from a checkpoint came to, held against the record of the same training.
#pragma once

#include <string>

#include "driver/plan.h"
#include "results/json.h"

namespace ampgate::driver {

// `answer` is what the worker said of `trial`, `recorded` the trial in the record; `bad_batch`: the step was
// the one that the record calls bad. Returns what `ampgate reproduce --json` prints, without `checkpoint` and
// `same_build`.
results::Json compare_with_record(const results::Json& recorded, const results::Json& answer,
                                  const Trial& trial, bool bad_batch);

// The same, whole, as lines for a terminal.
std::string in_words(const results::Json& result);

}  // namespace ampgate::driver
