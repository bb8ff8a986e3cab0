#include "validate/sample.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "cases/execute.h"
#include "cases/independent.h"
#include "validate/case_fault.h"
#include "validate/oracle.h"

namespace ampgate::validate {
namespace {

// What one oracle with its bound may cost: elements that are read or written one by one, and products.
constexpr double kMostElements = 1 << 18;
constexpr double kMostProducts = 1 << 27;
// An axis is not thinned out below this: its edges and a few in between.
constexpr std::int64_t kFewestPositions = 16;

// How much an oracle of `elements` outputs costs, as a share of what it may.
double cost(const cases::BoundSpec& bound, double elements) {
  using cases::Family;
  const double terms = elements * static_cast<double>(bound.length);
  switch (bound.family) {
    case Family::kInnerProduct:
    case Family::kAttention:
      return std::max(elements / kMostElements, terms / kMostProducts);
    case Family::kSum:
    case Family::kMean:
      return terms / kMostElements;
    default:
      return elements / kMostElements;
  }
}

at::Tensor index_of(const Positions& positions, c10::Device device) {
  return at::tensor(positions, at::kLong).to(device);
}

}  // namespace

Sample Sample::with(const std::vector<Positions>& elements) const {
  Sample result = *this;
  for (auto& [axis, positions, size] : result.axes_) {
    for (const auto& element : elements) {
      positions.push_back(element[static_cast<std::size_t>(axis.output_dim)]);
    }
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  }
  return result;
}

cases::State Sample::select(cases::State state) const {
  for (const auto& [axis, positions, size] : axes_) {
    const c10::Device device = state[axis.operands.front().tensor].device();
    state = cases::select(state, axis, index_of(positions, device));
  }
  return state;
}

at::Tensor Sample::select(at::Tensor output) const {
  for (const auto& [axis, positions, size] : axes_) {
    output = cases::select(output, axis, index_of(positions, output.device()));
  }
  return output;
}

cases::Outputs Sample::select(cases::Outputs outputs) const {
  for (auto& output : outputs) output = select(output);
  return outputs;
}

std::string Sample::misfit(const at::Tensor& output) const {
  for (const auto& [axis, positions, size] : axes_) {
    const std::int64_t found = output.dim() > axis.output_dim ? output.size(axis.output_dim) : 0;
    if (found == size) continue;
    return "its dimension " + std::to_string(axis.output_dim) + " has size " + std::to_string(found) +
           " instead of " + std::to_string(size);
  }
  return {};
}

Positions Sample::whole_position(Positions position) const {
  if (position.empty()) return position;
  for (const auto& [axis, positions, size] : axes_) {
    auto& coordinate = position[static_cast<std::size_t>(axis.output_dim)];
    coordinate = positions[static_cast<std::size_t>(coordinate)];
  }
  return position;
}

results::Json Sample::json() const {
  results::Json list = results::Json::array();
  for (const auto& [axis, positions, size] : axes_) {
    list.push_back({{"output_dim", axis.output_dim}, {"judged", positions.size()}, {"size", size}});
  }
  return list;
}

Positions tile_aware_positions(std::int64_t size, std::int64_t count, std::uint64_t seed) {
  if (count >= size) {
    Positions all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<bool> chosen(static_cast<std::size_t>(size));
  std::int64_t left = count;
  const auto choose = [&](std::int64_t position) {
    auto&& mark = chosen[static_cast<std::size_t>(position)];
    if (!mark) --left;
    mark = true;
  };
  choose(0);
  choose(size - 1);
  for (const std::int64_t tile : {128, 64, 32, 16}) {
    for (std::int64_t edge = tile; edge < size; edge += tile) {
      for (const std::int64_t position : {edge - 1, edge, edge + 1}) {
        if (2 * left > count && position < size) choose(position);
      }
    }
  }
  // The generator is the same everywhere; the library's distributions are not.
  std::mt19937_64 random(seed);
  while (left > 0) choose(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)));
  Positions positions;
  for (std::int64_t position = 0; position < size; ++position) {
    if (chosen[static_cast<std::size_t>(position)]) positions.push_back(position);
  }
  return positions;
}

std::vector<std::vector<std::int64_t>> output_sizes(const cases::Case& definition, const cases::Facts& facts,
                                                    const cases::State& original) {
  cases::State slice = original;
  for (const auto& axis : facts.independent) slice = cases::select(slice, axis, index_of({0}, at::kCPU));
  slice = cases::converted(slice, at::kDouble);
  cases::Outputs outputs;
  try {
    outputs = oracle(definition, slice);
  } catch (const c10::Error& error) {
    throw CaseFault(std::string("a slice along its independent axes cannot be computed alone: ") +
                    error.what_without_backtrace());
  }
  std::vector<std::vector<std::int64_t>> sizes;
  for (const auto& output : outputs) {
    for (const auto& axis : facts.independent) {
      if (axis.output_dim < 0 || axis.output_dim >= output.dim()) {
        throw CaseFault("an independent axis names dimension " + std::to_string(axis.output_dim) +
                        " of the outputs, and one has " + std::to_string(output.dim()));
      }
    }
    sizes.push_back(cases::whole_sizes(output.sizes(), facts, original));
  }
  return sizes;
}

Sample choose_sample(const cases::Facts& facts, at::IntArrayRef output_sizes, std::uint64_t seed) {
  double elements = 1.0;
  for (const std::int64_t size : output_sizes) elements *= static_cast<double>(size);
  std::vector<std::int64_t> counts;
  for (const auto& axis : facts.independent) {
    counts.push_back(output_sizes[static_cast<std::size_t>(axis.output_dim)]);
  }
  while (cost(facts.bound, elements) > 1.0) {
    const auto longest = std::max_element(counts.begin(), counts.end());
    if (longest == counts.end() || *longest <= kFewestPositions) break;
    const std::int64_t fewer = *longest - (*longest + 3) / 4;
    elements *= static_cast<double>(fewer) / static_cast<double>(*longest);
    *longest = fewer;
  }
  std::vector<SampledAxis> axes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& axis = facts.independent[i];
    const std::int64_t size = output_sizes[static_cast<std::size_t>(axis.output_dim)];
    if (counts[i] < size) axes.push_back({axis, tile_aware_positions(size, counts[i], seed + i), size});
  }
  return Sample(std::move(axes));
}

}  // namespace ampgate::validate
