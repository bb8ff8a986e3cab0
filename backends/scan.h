// Short loops over a stretch of elements for the comparator and the digest, in the widest vectors of the CPU
// that runs them. They need no LibTorch. Sums depend on the elements and on the kind of CPU alone.
#pragma once

#include <cstdint>

#include "backends/kernels/hash.h"
#include "backends/kernels/judge.h"

namespace ampgate::backends::scan {

// Exactly, whatever the value.
void widen_float(const float* values, double* out, std::int64_t count);
void widen_half(const std::uint16_t* bits, double* out, std::int64_t count);
void widen_bfloat16(const std::uint16_t* bits, double* out, std::int64_t count);

// What is already known of the worst element and of the largest ULP distance: an element that changes
// neither, and is accepted, needs no closer look.
struct Filter {
  Filter(const judge::Rule& rule, const judge::Counts& known);

  double margin;
  double ulps;       // in half units of the last place
  double half_unit;  // times the power of two below a magnitude: half a unit in its last place, a little less
  double least_half;  // of a subnormal number
  double overflow;
  std::uint64_t signs;
};

struct Seen {
  judge::Errors errors;      // not valid when `special`
  double largest_bound = 0;  // NaN is not seen
  bool special = false;      // some out or RN(y) is NaN or infinite
  // Some element must be judged; when false, all are accepted and none has a larger margin or ULP distance.
  bool remarkable = false;
};

// `out`, `y` and `error` hold `count` elements; an error above `limit`, or NaN, is remarkable.
Seen errors(const double* out, const double* y, const double* error, const double* limit, std::int64_t count,
            const Filter& filter);

// The same without a bound: only `errors` and `special`, for which both must be finite.
Seen differences(const double* out, const double* y, std::int64_t count);

judge::Squares squares(const double* values, std::int64_t count);

// The digest's sum (kernels/hash.h) over `bytes` at `data`, the first word at position `first`. Any
// alignment.
hash::Lanes sum_words(const void* data, std::uint64_t bytes, std::uint64_t first);

}  // namespace ampgate::backends::scan
