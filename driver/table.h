// The table of a record: one line for each trial, aligned, with colour where asked.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::driver {

std::string table(const results::Json& record, bool colour);

// "1.23 ms", "+-" left to the caller; three significant digits and the unit that fits.
std::string time_words(double nanoseconds);
std::string bytes_words(double bytes);

// "1.35", "0.014": two digits at least.
std::string ratio_words(double ratio);

}  // namespace ampgate::driver
