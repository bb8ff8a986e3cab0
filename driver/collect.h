// One answer per trial from a worker process that may fail: those of a phase in which trials do not depend on
// each other.
#pragma once

#include "driver/context.h"

namespace ampgate::driver {

// The trials of `plan` by id: the event `trial_finished`, or {"verdict", "reason"} for a trial that crashed
// or timed out.
results::Json collect_answers(Context& context, const results::Json& plan);

}  // namespace ampgate::driver
