// Inputs that are bit-identical on every machine: integer arithmetic on a counter, keyed by
// (seed, case, shape, tensor name, logical index), so that order, threads and layout don't matter.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ampgate::cases {

// What floating tensors are filled with. Ordinary inputs decide a trial; edge inputs give findings about the
// operator.
enum class FillKind {
  kOrdinary,
  kZeros,      // +0 and -0 in turn
  kSubnormal,  // values that are subnormal in FP16 (2^-24 .. 2^-15), some in FP32 as well
  kLarge,      // near FP16's largest finite value, both signs: products and sums overflow FP16
  kHuge,       // near the largest finite FP32 and BF16 value: overflows FP16 in the cast
  kNaN,        // ordinary, with a NaN at a seeded position
  kInfinite,   // ordinary, with a +Inf and a -Inf at seeded positions
  kNone,       // sizes and types alone, on the meta device: nothing is allocated. No edge input
};

std::string_view fill_name(FillKind kind);
const std::vector<FillKind>& edge_fills();

// The source of a case's tensors. Weights that a file holds are not filled: `data.h` loads them.
class Fill {
 public:
  Fill(std::uint64_t seed, std::string case_name, std::string shape_name,
       FillKind kind = FillKind::kOrdinary);

  // FP32, approximately normal: a sum of uniform integers scaled by a power of two, standard deviation
  // `scale` rounded to the nearest power of two. Edge kinds replace the values.
  at::Tensor normal(std::string_view tensor, at::IntArrayRef sizes, double scale = 1.0) const;
  // FP32, uniform in [low, high) on a grid of 2^-16 of the width. Edge kinds do NOT replace it: for values
  // that have a domain (variances, probabilities).
  at::Tensor uniform(std::string_view tensor, at::IntArrayRef sizes, double low, double high) const;
  // int64, uniform in [low, high). Never replaced.
  at::Tensor integers(std::string_view tensor, at::IntArrayRef sizes, std::int64_t low,
                      std::int64_t high) const;

  FillKind kind() const { return kind_; }
  // The same streams with other values.
  Fill with(FillKind kind) const { return {seed_, case_name_, shape_name_, kind}; }
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t stream(std::string_view tensor) const;

  std::uint64_t seed_;
  std::string case_name_;
  std::string shape_name_;
  FillKind kind_;
};

}  // namespace ampgate::cases
