// Rules that name cases against the cases that there are: a limit that nobody keeps or judges would be kept
// by every run.
#pragma once

#include <string>

#include "driver/manifest.h"
#include "results/rules.h"

namespace ampgate::driver {

// Throws results::FileError with `file` and JSON pointer for a case or output that is not there, a quality
// that the case does not have, a case whose outputs are all ignored, and a target that matches no trial.
void check_case_rules(const results::Rules& rules, const Manifest& manifest, const std::string& file);

}  // namespace ampgate::driver
