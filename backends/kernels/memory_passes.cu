#include "backends/kernels/memory_passes.h"

#include "backends/kernels/gpu_runtime.h"

namespace ampgate::backends::kernels {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::int64_t kMostBlocks = 8192;

__device__ std::int64_t first() { return std::int64_t{blockIdx.x} * kThreads + threadIdx.x; }
__device__ std::int64_t stride() { return std::int64_t{gridDim.x} * kThreads; }

// The one write, of a sum that no memory here gives, keeps the compiler from leaving the reads out.
__global__ void read_kernel(const uint4* words, std::int64_t count, unsigned* never) {
  unsigned sum = 0;
  for (std::int64_t i = first(); i < count; i += stride()) {
    const uint4 word = words[i];
    sum |= word.x | word.y | word.z | word.w;
  }
  if (sum == 0xffffffffU) *never = sum;
}

__global__ void write_kernel(uint4* words, std::int64_t count) {
  for (std::int64_t i = first(); i < count; i += stride()) words[i] = uint4{1, 1, 1, 1};
}

__global__ void copy_kernel(const uint4* from, uint4* to, std::int64_t count) {
  for (std::int64_t i = first(); i < count; i += stride()) to[i] = from[i];
}

unsigned blocks_for(std::int64_t count) {
  const std::int64_t wanted = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks);
}

constexpr std::int64_t kWord = sizeof(uint4);

}  // namespace

const char* allocate(std::int64_t bytes, void** buffer) {
  return gpu::text_of(AMPGATE_GPU(Malloc)(buffer, static_cast<std::size_t>(bytes)));
}

const char* release(void* buffer) { return gpu::text_of(AMPGATE_GPU(Free)(buffer)); }

const char* read_pass(const void* buffer, std::int64_t bytes, void* stream) {
  const std::int64_t count = bytes / kWord;
  auto* const never = const_cast<unsigned*>(static_cast<const unsigned*>(buffer));
  read_kernel<<<blocks_for(count), kThreads, 0, static_cast<gpu::Stream>(stream)>>>(
      static_cast<const uint4*>(buffer), count, never);
  return gpu::text_of(AMPGATE_GPU(GetLastError)());
}

const char* write_pass(void* buffer, std::int64_t bytes, void* stream) {
  const std::int64_t count = bytes / kWord;
  write_kernel<<<blocks_for(count), kThreads, 0, static_cast<gpu::Stream>(stream)>>>(
      static_cast<uint4*>(buffer), count);
  return gpu::text_of(AMPGATE_GPU(GetLastError)());
}

const char* copy_pass(void* buffer, std::int64_t bytes, void* stream) {
  const std::int64_t count = bytes / kWord / 2;
  auto* const words = static_cast<uint4*>(buffer);
  copy_kernel<<<blocks_for(count), kThreads, 0, static_cast<gpu::Stream>(stream)>>>(words, words + count,
                                                                                     count);
  return gpu::text_of(AMPGATE_GPU(GetLastError)());
}

}  // namespace ampgate::backends::kernels
