// What a record says beside the plain table: the device's ceilings, other modes, disturbed blocks.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::driver {

// One line for each trial and mode beside `warm`; empty where no other was measured.
std::string modes_table(const results::Json& record, bool colour);

// "Ceilings of this device in this run: copy 21.3 GB/s, ..."; empty where they were not measured.
std::string ceilings_line(const results::Json& record);

// How many blocks were disturbed, and why; empty: none.
std::string disturbed_line(const results::Json& record);

}  // namespace ampgate::driver
