// What one thread of the device's comparator does: it judges the elements of some words of the output and
// adds the words to the digest, in one pass. The same source for host compilers, nvcc and hipcc.
#pragma once

#include "backends/kernels/judge.h"
#include "backends/kernels/widen.h"

namespace ampgate::backends::compare {

// Everything contiguous, on one device. `limits` has an entry a row of `row_length` elements: above it, E is
// ill-conditioned (row_limit below).
struct Operands {
  const void* out;
  widen::Type type;
  const double* y;
  const double* error;
  const double* hard;  // null: there is no hard bound
  const double* limits;
  std::int64_t elements;
  std::int64_t row_length;
  judge::Rule rule;
};

struct Sums {
  judge::Counts counts;
  judge::Errors errors;
  hash::Lanes lanes;

  AMPGATE_HOST_DEVICE void merge(const Sums& other) {
    counts.merge(other.counts);
    errors.merge(other.errors);
    hash::add(lanes, other.lanes);
  }
};

// Element number `part` of a word of the digest, widened.
AMPGATE_HOST_DEVICE inline double element_of(std::uint64_t word, std::int64_t part, widen::Type type) {
  switch (type) {
    case widen::Type::kFloat64:
      return judge::from_bits(word);
    case widen::Type::kFloat32:
      return widen::float_of(static_cast<std::uint32_t>(word >> (32 * part)));
    case widen::Type::kFloat16:
      return widen::half(static_cast<std::uint32_t>(word >> (16 * part)) & 0xffff);
    case widen::Type::kBFloat16:
      return widen::bfloat16(static_cast<std::uint32_t>(word >> (16 * part)) & 0xffff);
  }
  return 0.0;
}

// The words begin, begin + stride, ... below end.
AMPGATE_HOST_DEVICE inline Sums compare_words(const Operands& operands, std::int64_t begin, std::int64_t end,
                                              std::int64_t stride) {
  const std::int64_t width = widen::width_of(operands.type);
  const std::int64_t per_word = 8 / width;
  Sums sums;
  for (std::int64_t position = begin; position < end; position += stride) {
    const std::int64_t first = position * per_word;
    const std::int64_t count = operands.elements - first < per_word ? operands.elements - first : per_word;
    std::uint64_t word = 0;
    memcpy(&word, static_cast<const unsigned char*>(operands.out) + position * 8,
           static_cast<std::size_t>(count * width));
    hash::add(sums.lanes, hash::mix_word(word, static_cast<std::uint64_t>(position)));
    for (std::int64_t part = 0; part < count; ++part) {
      const std::int64_t index = first + part;
      const double out = element_of(word, part, operands.type);
      const double y = operands.y[index];
      judge::measure(sums.errors, operands.rule, out, y);
      judge::judge(
          sums.counts, operands.rule,
          {index, out, y, operands.error[index], operands.hard == nullptr ? -1.0 : operands.hard[index],
           operands.limits[index / operands.row_length]});
    }
  }
  return sums;
}

// The squares of the finite ones among the values begin, begin + stride, ... below end.
AMPGATE_HOST_DEVICE inline judge::Squares squares_of(const double* values, std::int64_t begin,
                                                     std::int64_t end, std::int64_t stride) {
  judge::Squares squares;
  for (std::int64_t i = begin; i < end; i += stride) {
    if (judge::is_finite(values[i])) squares.merge({1, values[i] * values[i]});
  }
  return squares;
}

}  // namespace ampgate::backends::compare
