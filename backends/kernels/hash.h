// The arithmetic of the tensor digest, the same source for host compilers, nvcc and hipcc.
// A tensor's bytes in logical order are words of 8 (the last one filled up with zeros). Each word is mixed
// with its position into two lanes, and the lanes are summed, so that words may come in any order and from
// any thread. For one position each lane's mix is a bijection: a change of a single word always changes both
// sums.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>  // there __host__ is a macro of the runtime
#endif

#if defined(__CUDACC__) || defined(__HIPCC__)
#define AMPGATE_HOST_DEVICE __host__ __device__
#else
#define AMPGATE_HOST_DEVICE
#endif

namespace ampgate::backends::hash {

struct Lanes {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

// MurmurHash3's 64-bit finaliser (Appleby): every input bit reaches every output bit.
AMPGATE_HOST_DEVICE inline std::uint64_t murmur_mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

// The finaliser of SplitMix64 in Stafford's variant 13.
AMPGATE_HOST_DEVICE inline std::uint64_t stafford_mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The position enters one lane by addition and the other by exclusive or, with different odd factors: words
// that trade places without a trace in one lane are seen by the other.
AMPGATE_HOST_DEVICE inline Lanes mix_word(std::uint64_t word, std::uint64_t position) {
  return {murmur_mix(word + (position + 1) * 0x9e3779b97f4a7c15ULL),
          stafford_mix(word ^ ((position + 1) * 0xd1b54a32d192ed03ULL))};
}

AMPGATE_HOST_DEVICE inline void add(Lanes& sum, const Lanes& term) {
  sum.first += term.first;
  sum.second += term.second;
}

AMPGATE_HOST_DEVICE inline std::uint64_t word_count(std::uint64_t bytes) {
  return bytes / 8 + (bytes % 8 != 0);
}

// The sum over the words begin, begin + stride, ... below end, of the `bytes` bytes at `data`. They need no
// alignment.
AMPGATE_HOST_DEVICE inline Lanes sum_words(const void* data, std::uint64_t bytes, std::uint64_t begin,
                                           std::uint64_t end, std::uint64_t stride) {
  const auto* const base = static_cast<const unsigned char*>(data);
  const std::uint64_t whole = bytes / 8;
  const std::uint64_t whole_end = end < whole ? end : whole;
  Lanes sum;
  std::uint64_t position = begin;
  for (; position < whole_end; position += stride) {
    std::uint64_t word;
    memcpy(&word, base + position * 8, 8);
    add(sum, mix_word(word, position));
  }
  if (position == whole && position < end) {
    std::uint64_t word = 0;
    memcpy(&word, base + whole * 8, bytes % 8);
    add(sum, mix_word(word, whole));
  }
  return sum;
}

// Takes one number of the header (type, sizes) into account; here the order counts.
AMPGATE_HOST_DEVICE inline void absorb(Lanes& state, std::uint64_t value) {
  state.first = murmur_mix(state.first ^ murmur_mix(value));
  state.second = stafford_mix(state.second + stafford_mix(value + 1));
}

}  // namespace ampgate::backends::hash
