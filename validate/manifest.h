// What the driver plans from without LibTorch: the cases of this build, and the devices of this machine.
#pragma once

#include "results/json.h"

namespace ampgate::validate {

// Cases with dimensions, shapes and outputs; precisions; suites; build id.
results::Json manifest();

// The part of a manifest that the cases of files add: {"files", "cases"}, with the files as
// cases::files::load found them. Throws what loading throws.
results::Json file_manifest(const results::Json& files);

// Every device that a backend of this build knows, usable or not.
results::Json devices();

}  // namespace ampgate::validate
