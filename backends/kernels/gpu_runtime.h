// One source for nvcc and hipcc: the few runtime names that our kernels use, under a neutral prefix.
#pragma once

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define AMPGATE_GPU(name) hip##name
#else
#include <cuda_runtime.h>
#define AMPGATE_GPU(name) cuda##name
#endif

namespace ampgate::backends::gpu {

using Error = AMPGATE_GPU(Error_t);
using Stream = AMPGATE_GPU(Stream_t);
inline constexpr Error kSuccess = AMPGATE_GPU(Success);

// Empty when all is well; else the runtime's text. Kernels' callers have no exceptions across the compilers.
inline const char* text_of(Error error) {
  return error == kSuccess ? "" : AMPGATE_GPU(GetErrorString)(error);
}

}  // namespace ampgate::backends::gpu
