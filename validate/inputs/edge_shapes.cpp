#include "validate/inputs/edge_shapes.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "cases/fills.h"

namespace ampgate::validate {
namespace {

constexpr std::int64_t kLongest = 32768;
constexpr std::int64_t kShort = 4;  // every other dimension
constexpr double kMostFlops = 1e8;
constexpr double kLargestEdge = 1 << 24;  // product of the dimensions

std::vector<std::int64_t> sizes_of(const cases::Shape& shape) {
  std::vector<std::int64_t> sizes;
  for (const auto& [dim, size] : shape.dims) sizes.push_back(size);
  return sizes;
}

// A case of one shape is tried in it while that is cheap.
std::optional<cases::Shape> fixed_shape(const cases::Case& definition) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 20;
  const cases::Shape shape = definition.shape({});
  std::int64_t elements = 0;
  const cases::Fill sizes_only(0, definition.name, shape.name, cases::FillKind::kNone);
  for (const auto& entry : definition.setup(shape, sizes_only).tensors) elements += entry.tensor.numel();
  return elements <= kMostElements ? std::optional(shape) : std::nullopt;
}

}  // namespace

std::optional<cases::Shape> edge_shape(const cases::Case& definition) {
  if (definition.dims.empty()) return fixed_shape(definition);
  for (const auto& suite : definition.suites) {
    if (suite.suite == "smoke" && !suite.shapes.empty()) return definition.shape(suite.shapes.front());
  }
  std::optional<cases::Shape> cheapest;
  double least = kLargestEdge;
  for (const auto& suite : definition.suites) {
    for (const auto& sizes : suite.shapes) {
      const double size = std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
      if (size > least || (cheapest && size == least)) continue;
      least = size;
      cheapest = definition.shape(sizes);
    }
  }
  return cheapest;
}

std::optional<cases::Shape> long_shape(const cases::Case& definition) {
  const auto shape = edge_shape(definition);
  if (!shape) return {};
  std::vector<std::int64_t> sizes = sizes_of(*shape);
  for (auto& size : sizes) size = std::min(size, kShort);
  const std::int64_t length = definition.facts(definition.shape(sizes)).bound.length;
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    std::vector<std::int64_t> other = sizes;
    other[dim] *= 2;
    if (definition.facts(definition.shape(other)).bound.length <= length) continue;
    for (std::int64_t longest = kLongest; longest > length; longest /= 2) {
      other[dim] = sizes[dim] * longest / length;
      cases::Shape result = definition.shape(other);
      if (definition.facts(result).flops <= kMostFlops) return result;
    }
  }
  return {};
}

cases::Shape single_shape(const cases::Case& definition) {
  return definition.shape(std::vector<std::int64_t>(definition.dims.size(), 1));
}

std::vector<cases::Shape> empty_shapes(const cases::Case& definition) {
  std::vector<cases::Shape> shapes;
  const auto shape = edge_shape(definition);
  if (!shape) return shapes;
  for (std::size_t dim = 0; dim < shape->dims.size(); ++dim) {
    cases::Shape empty = *shape;
    empty.dims[dim].second = 0;
    empty.name = definition.shape_prefix;
    for (std::size_t i = 0; i < empty.dims.size(); ++i) {
      empty.name += (i == 0 ? "" : "x") + std::to_string(empty.dims[i].second);
    }
    shapes.push_back(std::move(empty));
  }
  return shapes;
}

}  // namespace ampgate::validate
