// The digest's sum over a tensor's bytes, on a GPU. No LibTorch here: pointers and a stream.
#pragma once

#include <cstdint>

#include "backends/kernels/hash.h"

namespace ampgate::backends::kernels {

// Adds up hash::sum_words over `bytes` contiguous bytes at device address `data` into the two device words at
// `lanes`, which are set to 0 first. Runs on the raw stream `stream` (cudaStream_t, hipStream_t) of the
// current device and does not wait for it. Returns "" or the runtime's error.
const char* digest_bytes(const void* data, std::uint64_t bytes, hash::Lanes* lanes, void* stream);

}  // namespace ampgate::backends::kernels
