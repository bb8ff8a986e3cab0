// Phase 1: every trial gets its verdict, whatever becomes of the worker; then two fresh processes repeat and
// hash.
#pragma once

#include "driver/context.h"

namespace ampgate::driver {

// Judges the trials that the journal holds no verdict of.
void validate_trials(Context& context);

// Completes the evidence of the trials that opened the gate: do fresh processes give the same bits?
void repeat_trials(Context& context);

}  // namespace ampgate::driver
