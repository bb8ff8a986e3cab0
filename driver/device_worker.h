// Questions about a device alone: a worker with a plan that names no trial.
#pragma once

#include <string>

#include "driver/context.h"
#include "driver/worker.h"

namespace ampgate::driver {

// Runs the worker of `phase` and gives its `done`; null where it crashed or gave no answer in time, with
// `failure` in words. Errors of the environment count as no answer too: the run goes on without.
results::Json ask_about_device(const WorkerSetup& setup, const results::Json& plan, const EventSink& sink,
                               std::string& failure);

// Within a run: the answer's member of the phase's name goes to the journal, a failure is said.
void note_about_device(Context& context, const std::string& phase, const std::string& what);

}  // namespace ampgate::driver
