// Fills the allocator's free blocks with NaN bytes, so that an operator that leaves part of its output
// unwritten shows it instead of finding an earlier, right result there.
#pragma once

#include <c10/core/Device.h>

#include "cases/case.h"

namespace ampgate::validate {

// Allocates blocks of the sizes that outputs like these take in 16, 32 and 64 bit, fills them with NaN and
// frees them.
void poison_free_blocks(const cases::Outputs& like, c10::Device device);

}  // namespace ampgate::validate
