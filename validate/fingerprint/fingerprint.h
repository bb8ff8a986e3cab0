// The numeric fingerprint of a device: what all probes find, in words and as a digest that two devices of one
// kind share.
#pragma once

#include "backends/backend.h"
#include "results/json.h"

namespace ampgate::validate::fingerprint {

// {"digest", "probes": [{"name", "asks", "raw", "words"}]}; of a probe that the device cannot run "absent"
// with the reason in the place of "raw" and "words". The digest is over names and raw values. Takes about a
// second on a CPU. The caller holds an at::NoGradGuard.
results::Json take(backends::Backend& backend);

}  // namespace ampgate::validate::fingerprint
