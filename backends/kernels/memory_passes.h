// Plain passes over device memory, queued on a stream; and the memory for them, beside LibTorch's allocator.
#pragma once

#include <cstdint>

namespace ampgate::backends::kernels {

// Each returns "" or the runtime's error.
const char* allocate(std::int64_t bytes, void** buffer);
const char* release(void* buffer);

// `bytes` is a multiple of 16, as is `buffer`'s address; for copy_pass of 32.
const char* read_pass(const void* buffer, std::int64_t bytes, void* stream);
const char* write_pass(void* buffer, std::int64_t bytes, void* stream);
const char* copy_pass(void* buffer, std::int64_t bytes, void* stream);  // first half to the second

}  // namespace ampgate::backends::kernels
