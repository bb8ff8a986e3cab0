// Carries out what a journal fixes and still lacks, phase by phase.
#pragma once

#include "driver/context.h"

namespace ampgate::driver {

// The context of a run on this journal. Throws results::FileError for a header that is damaged,
// EnvironmentError for workers of another build than the journal's.
Context make_context(results::Journal& journal, Progress& progress, const WorkerFolder& folder);

// Runs the phases that have not ended. Throws results::GateError when the gate lets no trial through.
void execute(Context& context);

}  // namespace ampgate::driver
