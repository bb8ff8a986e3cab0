// What shapes of the user's own ask for, before a run begins.
#pragma once

#include "results/json.h"

namespace ampgate::validate {

// `asked`: [{"case": "matmul", "shape": [512, 512, 512]}, ...]. The answer has an entry for each, in order;
// one that the case cannot have holds "problem" instead of numbers. Nothing of the size asked for is
// allocated. Throws results::UsageError for a case that this build lacks, results::Json::exception for
// another document.
results::Json shape_facts(const results::Json& asked);

}  // namespace ampgate::validate
