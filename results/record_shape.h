// Is this JSON shaped as a record? What programs rely on, checked once, so that hostile input ends in a
// message.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::results {

// Throws FileError with the JSON pointer of the first thing that is missing or of a wrong type.
void check_record_shape(const Json& record, const std::string& where);

}  // namespace ampgate::results
