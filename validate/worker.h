// The worker's loop over a plan: phases `validate` and `repeat`.
#pragma once

#include "results/protocol.h"

namespace ampgate::validate {

// Answers every trial of the plan with events and ends with `done`. Throws results::Error when the worker
// cannot go on at all: another build's plan, a device that is not there, settings that cannot be applied, a
// plan that names what this build does not know.
void run_plan(const results::Json& plan, results::EventWriter& events);

}  // namespace ampgate::validate
