#include "backends/digest.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "backends/digest_parts.h"
#include "backends/scan.h"
#include "results/sha256.h"

namespace ampgate::backends {
namespace {

constexpr std::int64_t kWordsPerTask = 1 << 15;

hash::Lanes hash_bytes(const void* data, std::uint64_t bytes) {
  std::atomic<std::uint64_t> first{0};
  std::atomic<std::uint64_t> second{0};
  const auto words = static_cast<std::int64_t>(hash::word_count(bytes));
  at::parallel_for(0, words, kWordsPerTask, [&](std::int64_t begin, std::int64_t end) {
    const auto offset = static_cast<std::uint64_t>(begin) * 8;
    const std::uint64_t taken = std::min(bytes, static_cast<std::uint64_t>(end) * 8) - offset;
    const hash::Lanes sum =
        scan::sum_words(static_cast<const char*>(data) + offset, taken, static_cast<std::uint64_t>(begin));
    first.fetch_add(sum.first, std::memory_order_relaxed);
    second.fetch_add(sum.second, std::memory_order_relaxed);
  });
  return {first.load(), second.load()};
}

void append_hex(std::string& text, std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(value >> shift) & 0xf];
}

}  // namespace

at::Tensor in_logical_order(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != c10::kStrided || tensor.is_quantized()) {
    throw std::invalid_argument("digest: only dense tensors have one");
  }
  return tensor.detach().resolve_conj().resolve_neg().contiguous();
}

std::string digest_of(hash::Lanes sum, const at::Tensor& tensor) {
  // The number of a ScalarType is part of LibTorch's file formats and never changes.
  hash::absorb(sum, static_cast<std::uint64_t>(tensor.scalar_type()));
  hash::absorb(sum, static_cast<std::uint64_t>(tensor.dim()));
  for (const std::int64_t size : tensor.sizes()) hash::absorb(sum, static_cast<std::uint64_t>(size));
  std::string text;
  append_hex(text, sum.first);
  append_hex(text, sum.second);
  return text;
}

std::string digest(const at::Tensor& tensor) {
  const at::Tensor dense = in_logical_order(tensor).to(c10::kCPU);
  return digest_of(hash_bytes(dense.const_data_ptr(), dense.nbytes()), dense);
}

std::string digest_of_all(c10::ArrayRef<at::Tensor> tensors) {
  constexpr std::size_t kDigits = 32;
  std::string all;
  for (const auto& tensor : tensors) all += digest(tensor);
  return results::sha256_hex(all).substr(0, kDigits);
}

}  // namespace ampgate::backends
