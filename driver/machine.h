// The machine as a record describes it, and the time of day.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::driver {

// Host, system, processor, governor, load. What cannot be read is absent, with the reason.
results::Json describe_machine();

std::string utc_now();          // "2026-11-29T17:45:00Z"
std::string compact_utc_now();  // "20261129T174500Z"
std::string random_id();        // 8 hexadecimal digits

}  // namespace ampgate::driver
