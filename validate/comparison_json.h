// What every criterion that compares element by element says of its worst output.
#pragma once

#include <string>

#include "results/json.h"
#include "validate/compare.h"

namespace ampgate::validate {

// The members that all `kernel_error` objects share: error, place, values, ULP distance, bias and counts. The
// caller adds its criterion, bound and margin.
results::Json comparison_json(const std::string& output, const Comparison& comparison);

}  // namespace ampgate::validate
