// Which part of a large output is judged: a grid of seeded positions along the case's independent axes, so
// that the FP64 oracle and the bound of that part alone are computed. Small outputs are judged whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cases/case.h"
#include "results/json.h"

namespace ampgate::validate {

using Positions = std::vector<std::int64_t>;

struct SampledAxis {
  cases::IndependentAxis axis;
  Positions positions;  // ascending
  std::int64_t size;    // of the whole axis
};

class Sample {
 public:
  Sample() = default;  // the whole output
  explicit Sample(std::vector<SampledAxis> axes) : axes_(std::move(axes)) {}

  bool whole() const { return axes_.empty(); }
  // The same grid with the rows and columns of these elements of the output as well.
  Sample with(const std::vector<Positions>& elements) const;

  // The inputs of what is judged, and what is judged of an output. A whole sample returns its argument.
  cases::State select(cases::State state) const;
  at::Tensor select(at::Tensor output) const;
  cases::Outputs select(cases::Outputs outputs) const;
  // Empty when the output has the sizes that the axes name, else what differs.
  std::string misfit(const at::Tensor& output) const;
  // The position in the whole output of one in the selected part; empty of an empty one.
  Positions whole_position(Positions position) const;

  const std::vector<SampledAxis>& axes() const { return axes_; }
  // For records: [{"output_dim", "judged", "size"}, ...]
  results::Json json() const;

 private:
  std::vector<SampledAxis> axes_;
};

// `count` of `size` positions in ascending order: first and last, then the edges of tiles (multiples of 128,
// 64, 32 and 16 with their neighbours) for up to half of them, the rest seeded.
Positions tile_aware_positions(std::int64_t size, std::int64_t count, std::uint64_t seed);

// Sizes of the outputs of a case on this state, from the oracle of a single slice.
std::vector<std::vector<std::int64_t>> output_sizes(const cases::Case& definition, const cases::Facts& facts,
                                                    const cases::State& original);

// The whole while its oracle is cheap; else the longest axes are thinned out until it is.
Sample choose_sample(const cases::Facts& facts, at::IntArrayRef output_sizes, std::uint64_t seed);

}  // namespace ampgate::validate
