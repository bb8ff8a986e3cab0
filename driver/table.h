// The table of a record: one line for each trial, aligned, with colour where asked.
#pragma once

#include <string>

#include "results/json.h"

namespace ampgate::driver {

std::string table(const results::Json& record, bool colour);

// Is there a speed-up that says something about the precision? Where autocast left every operator in FP32,
// the number compares FP32 with itself.
bool has_speedup(const results::Json& measurement);

// "1.23 ms ±2.1%": the median time `key` of a measurement, and its interval's half width in percent of it.
std::string median_words(const results::Json& measurement, const char* key = "time_ns");

}  // namespace ampgate::driver
