// FP16, BF16 or FP32: what a record says of each case, side by side, and which it speaks for.
#pragma once

#include "results/json.h"

namespace ampgate::results {

// One entry for each case and shape, in the record's order:
//   {"case", "shape",
//    "fp16" and "bf16": the way (autocast, conversion, islands) that is fastest of those that may run:
//      {"precision", "verdict", "margin", "decisions", "regression", "training_quality", "speedup_over_fp32",
//      "memory_to_fp32", and of islands, which regions stay in FP32 and which there are: "islands",
//      "all_regions"}; absent where none may, with the reason,
//    "fp16_to_bf16": FP16's time over BF16's, {"value", "interval", "in_words"}; absent where both were not
//      measured the same way,
//    "recommendation": {"precision", "in_words"}}
// Numbers are the record's own. Recommended is what may run and is shown to be faster than FP32 and than the
// other type; where that does not decide between two, the one that keeps more of the quality, then BF16, whose
// range is FP32's. What is not shown to be faster than FP32 is no gain, and nothing is recommended where
// nothing was measured, or where FP32 itself may not run.
Json choices(const Json& record);

}  // namespace ampgate::results
