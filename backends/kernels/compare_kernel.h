// The comparator on a GPU. No LibTorch here: pointers and a stream.
#pragma once

#include <cstdint>

#include "backends/kernels/compare_words.h"

namespace ampgate::backends::kernels {

// Blocks that `compare` starts for so many elements, each with one entry in its result. They depend on the
// elements alone, and a block adds up in a fixed order, so that the sums are the same in every run.
std::int64_t compare_blocks(std::int64_t elements, widen::Type type);

// Both run on the raw stream `stream` (cudaStream_t, hipStream_t) of the current device and do not wait for
// it; all pointers are the device's. They return "" or the runtime's error.

// What an E may be at most in each row of y: max(2^-124, share * RMS of its finite values).
const char* row_limits(const double* y, std::int64_t rows, std::int64_t row_length, double share,
                       double* limits, void* stream);

// `sums`: compare_blocks entries, to be merged in order by the caller.
const char* compare(const compare::Operands& operands, compare::Sums* sums, void* stream);

}  // namespace ampgate::backends::kernels
