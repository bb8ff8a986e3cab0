#include "backends/digest.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "backends/kernels/hash.h"

namespace ampgate::backends {
namespace {

constexpr std::int64_t kWordBytes = 8;
constexpr std::int64_t kWordsPerTask = 1 << 15;

hash::Lanes hash_bytes(const char* data, std::int64_t bytes) {
  const std::int64_t whole_words = bytes / kWordBytes;
  std::atomic<std::uint64_t> first{0};
  std::atomic<std::uint64_t> second{0};
  at::parallel_for(0, whole_words, kWordsPerTask, [&](std::int64_t begin, std::int64_t end) {
    hash::Lanes sum;
    for (std::int64_t position = begin; position < end; ++position) {
      std::uint64_t word;
      std::memcpy(&word, data + position * kWordBytes, sizeof word);
      hash::add(sum, hash::mix_word(word, static_cast<std::uint64_t>(position)));
    }
    first.fetch_add(sum.first, std::memory_order_relaxed);
    second.fetch_add(sum.second, std::memory_order_relaxed);
  });
  hash::Lanes total{first.load(), second.load()};
  if (const std::int64_t rest = bytes % kWordBytes; rest != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + whole_words * kWordBytes, static_cast<std::size_t>(rest));
    hash::add(total, hash::mix_word(word, static_cast<std::uint64_t>(whole_words)));
  }
  return total;
}

void append_hex(std::string& text, std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(value >> shift) & 0xf];
}

}  // namespace

std::string digest(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != c10::kStrided || tensor.is_quantized()) {
    throw std::invalid_argument("digest: only dense tensors have one");
  }
  const at::Tensor dense = tensor.detach().to(c10::kCPU).resolve_conj().resolve_neg().contiguous();
  hash::Lanes state =
      hash_bytes(static_cast<const char*>(dense.const_data_ptr()), static_cast<std::int64_t>(dense.nbytes()));
  // The number of a ScalarType is part of LibTorch's file formats and never changes.
  hash::absorb(state, static_cast<std::uint64_t>(dense.scalar_type()));
  hash::absorb(state, static_cast<std::uint64_t>(dense.dim()));
  for (const std::int64_t size : dense.sizes()) hash::absorb(state, static_cast<std::uint64_t>(size));
  std::string text;
  append_hex(text, state.first);
  append_hex(text, state.second);
  return text;
}

}  // namespace ampgate::backends
