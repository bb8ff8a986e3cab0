// Estimates as they stand in records, and in words.
#pragma once

#include <string>

#include "results/json.h"
#include "results/percentiles.h"
#include "results/statistics.h"

namespace ampgate::results {

// `value_name` is that of the median: "median", "value". What is missing is named in `absent`.
Json to_json(const Estimate& estimate, const char* value_name, double level);

Json to_json(const Latency& latency, double level);

// What the order of the blocks shows beyond chance, in words; an array.
Json order_notes(const Estimate& time);

// "1.37 times as fast as fp32"; that nothing is shown, where the interval holds 1.
std::string say_speedup(const Estimate& speedup);

// "FP16 takes 0.52 of BF16's time: FP16 is faster".
std::string say_fp16_to_bf16(const Estimate& ratio);

}  // namespace ampgate::results
