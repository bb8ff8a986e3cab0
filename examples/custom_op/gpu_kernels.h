// The kernels for GPUs, behind plain pointers: neither compiler has to understand LibTorch's larger headers.
#pragma once

#include <cstdint>

namespace example::gpu {

enum class Type { kFloat, kDouble, kHalf, kBFloat16 };

// Put on `stream` (of the device that is current). Give the runtime's text where that fails; else empty.
const char* forward(Type type, const void* x, const void* bias, void* y, std::int64_t rows,
                    std::int64_t columns, void* stream);
const char* backward(Type type, const void* grad, const void* x, const void* bias, void* grad_x,
                     void* grad_bias, std::int64_t rows, std::int64_t columns, void* stream);

}  // namespace example::gpu
