// How far an output of this process lies from that of the process that validated, where the evidence has
// values.
#pragma once

#include "cases/case.h"
#include "results/json.h"

namespace ampgate::validate {

// `checks` as evidence carries them, with values. {"positions", "differing", "outside",
// "max_abs_difference"}, and where something is outside its limits the first such place in words as "place".
results::Json process_spread(const cases::Case& definition, const cases::Outputs& outputs,
                             const results::Json& checks);

}  // namespace ampgate::validate
