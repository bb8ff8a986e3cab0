#include "validate/inputs/patterns.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

#include "validate/inputs/operands.h"

namespace ampgate::validate {
namespace {

using cases::Family;

constexpr double kDeviations = 100.0;
constexpr double kRemainder = 0x1p-10;

bool adds_up(Family family) {
  return family == Family::kInnerProduct || family == Family::kSum || family == Family::kMean ||
         family == Family::kCumsum;
}

at::Tensor constant(at::Tensor values, const std::vector<std::int64_t>& dims) {
  const at::Tensor result = at::empty_like(values);
  for (const std::int64_t dim : dims)
    values = values.narrow(dim, 0, std::min<std::int64_t>(1, values.size(dim)));
  return result.copy_(values.expand(result.sizes()));
}

// `scale` of the first half along `dim`, in the place of the second.
at::Tensor half_repeated(const at::Tensor& values, std::int64_t dim, double scale) {
  at::Tensor result = values.clone();
  const std::int64_t half = values.size(dim) / 2;
  const at::Tensor rest = values.narrow(dim, half, half);
  result.narrow(dim, half, half)
      .copy_(values.narrow(dim, 0, half) * scale + rest * (scale < 0 ? kRemainder : 0.0));
  return result;
}

at::Tensor arranged(const at::Tensor& values, const std::vector<std::int64_t>& dims, bool first,
                    Pattern pattern) {
  switch (pattern) {
    case Pattern::kConstant:
      return constant(values, dims);
    case Pattern::kSorted:
      return first ? std::get<0>(values.sort(dims.back())) : values.abs();
    case Pattern::kFarMean:
      return first ? values + kDeviations : values;
    case Pattern::kCancellation:
      return half_repeated(values, dims.back(), first ? -1.0 : 1.0);
  }
  throw std::invalid_argument("no such pattern");
}

}  // namespace

std::string_view pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kConstant:
      return "constant rows";
    case Pattern::kSorted:
      return "sorted rows";
    case Pattern::kFarMean:
      return "mean of 100 sigma";
    case Pattern::kCancellation:
      return "cancellation";
  }
  throw std::invalid_argument("no such pattern");
}

const std::vector<Pattern>& all_patterns() {
  static const std::vector<Pattern> patterns{Pattern::kConstant, Pattern::kSorted, Pattern::kFarMean,
                                             Pattern::kCancellation};
  return patterns;
}

std::optional<cases::State> arranged(const cases::BoundSpec& bound, const cases::State& ordinary,
                                     Pattern pattern) {
  if (pattern == Pattern::kCancellation && !adds_up(bound.family)) return {};
  cases::State state = ordinary;
  bool first = true;
  for (const auto& [tensor, dims] : data_operands(bound, ordinary)) {
    if (dims.empty()) continue;
    state.tensors[tensor].tensor = arranged(ordinary[tensor], dims, first, pattern);
    first = false;
  }
  if (first) return {};
  return state;
}

}  // namespace ampgate::validate
