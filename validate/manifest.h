// What the driver plans from without LibTorch: the cases of this build, and the devices of this machine.
#pragma once

#include "results/json.h"

namespace ampgate::validate {

// Cases with dimensions, shapes and outputs; precisions; suites; build id.
results::Json manifest();

// Every device that a backend of this build knows, usable or not.
results::Json devices();

}  // namespace ampgate::validate
