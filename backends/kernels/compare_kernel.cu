#include "backends/kernels/compare_kernel.h"
#include "backends/kernels/gpu_runtime.h"

namespace ampgate::backends::kernels {
namespace {

constexpr int kThreads = 128;  // a power of two, for the halving below
constexpr std::int64_t kWordsPerBlock = 64 * kThreads;
constexpr std::int64_t kMostBlocks = 1 << 16;  // that start at once

// Adds up what the threads have, always in the same order; thread 0 has the sum.
template <typename Sum>
__device__ Sum add_up(const Sum& own) {
  // Bytes: shared memory takes no type with a constructor.
  __shared__ alignas(16) unsigned char bytes[kThreads * sizeof(Sum)];
  Sum* const all = reinterpret_cast<Sum*>(bytes);
  all[threadIdx.x] = own;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) all[threadIdx.x].merge(all[threadIdx.x + half]);
  }
  __syncthreads();
  const Sum total = all[0];
  __syncthreads();  // the memory is used again
  return total;
}

__global__ void limits_kernel(const double* y, std::int64_t rows, std::int64_t row_length, double share,
                              double* limits) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t begin = row * row_length;
    const auto squares = add_up(compare::squares_of(y, begin + threadIdx.x, begin + row_length, kThreads));
    if (threadIdx.x == 0) limits[row] = squares.limit(share);
  }
}

__global__ void compare_kernel(compare::Operands operands, std::int64_t words, std::int64_t blocks,
                               compare::Sums* sums) {
  for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const std::int64_t begin = block * kWordsPerBlock;
    const std::int64_t end = begin + kWordsPerBlock < words ? begin + kWordsPerBlock : words;
    const auto total = add_up(compare::compare_words(operands, begin + threadIdx.x, end, kThreads));
    if (threadIdx.x == 0) sums[block] = total;
  }
}

std::int64_t words_of(std::int64_t elements, widen::Type type) {
  return static_cast<std::int64_t>(
      hash::word_count(static_cast<std::uint64_t>(elements * widen::width_of(type))));
}

unsigned grid(std::int64_t blocks) {
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

}  // namespace

std::int64_t compare_blocks(std::int64_t elements, widen::Type type) {
  return (words_of(elements, type) + kWordsPerBlock - 1) / kWordsPerBlock;
}

const char* row_limits(const double* y, std::int64_t rows, std::int64_t row_length, double share,
                       double* limits, void* stream) {
  if (rows == 0) return "";
  limits_kernel<<<grid(rows), kThreads, 0, static_cast<gpu::Stream>(stream)>>>(y, rows, row_length, share,
                                                                               limits);
  return gpu::text_of(AMPGATE_GPU(GetLastError)());
}

const char* compare(const compare::Operands& operands, compare::Sums* sums, void* stream) {
  const std::int64_t blocks = compare_blocks(operands.elements, operands.type);
  if (blocks == 0) return "";
  compare_kernel<<<grid(blocks), kThreads, 0, static_cast<gpu::Stream>(stream)>>>(
      operands, words_of(operands.elements, operands.type), blocks, sums);
  return gpu::text_of(AMPGATE_GPU(GetLastError)());
}

}  // namespace ampgate::backends::kernels
