#include "backends/kernels/digest_kernel.h"
#include "backends/kernels/gpu_runtime.h"

namespace ampgate::backends::kernels {
namespace {

constexpr unsigned kThreads = 256;  // a power of two, for the halving below
constexpr std::uint64_t kMostBlocks = 2048;
using Word = unsigned long long;  // what atomicAdd takes

__global__ void sum_kernel(const void* data, std::uint64_t bytes, Word* first, Word* second) {
  // Two arrays of numbers: shared memory takes no type with a constructor.
  __shared__ std::uint64_t firsts[kThreads];
  __shared__ std::uint64_t seconds[kThreads];
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kThreads;
  const hash::Lanes sum = hash::sum_words(data, bytes, thread, hash::word_count(bytes), threads);
  firsts[threadIdx.x] = sum.first;
  seconds[threadIdx.x] = sum.second;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      firsts[threadIdx.x] += firsts[threadIdx.x + half];
      seconds[threadIdx.x] += seconds[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) {
    atomicAdd(first, static_cast<Word>(firsts[0]));
    atomicAdd(second, static_cast<Word>(seconds[0]));
  }
}

}  // namespace

const char* digest_bytes(const void* data, std::uint64_t bytes, hash::Lanes* lanes, void* stream) {
  const auto queue = static_cast<gpu::Stream>(stream);
  if (const auto error = AMPGATE_GPU(MemsetAsync)(lanes, 0, sizeof *lanes, queue); error != gpu::kSuccess) {
    return gpu::text_of(error);
  }
  if (bytes == 0) return "";
  const std::uint64_t wanted = (hash::word_count(bytes) + kThreads - 1) / kThreads;
  const auto blocks = static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks);
  sum_kernel<<<blocks, kThreads, 0, queue>>>(data, bytes, reinterpret_cast<Word*>(&lanes->first),
                                             reinterpret_cast<Word*>(&lanes->second));
  return gpu::text_of(AMPGATE_GPU(GetLastError)());
}

}  // namespace ampgate::backends::kernels
