// Images made larger or smaller between their elements, and the gradients of that.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

using cases::Family;

// Of (N, C, ...): its largest spatial size.
double largest_size(at::IntArrayRef sizes) {
  return static_cast<double>(*std::max_element(sizes.begin() + 2, sizes.end()));
}

// `taps`: elements along one axis that an element of the result is made of, where it grows; where it shrinks,
// an anti-aliasing filter and a gradient take as many more as it shrinks by.
template <std::int64_t taps>
std::optional<LocalProblem> interpolate(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  const auto out = call.view.outputs.at(0).sizes();
  if (!x.is_floating_point() || x.dim() < 3 || x.dim() != std::ssize(out) || x.numel() == 0) return {};
  std::int64_t terms = 1;
  double weights = 1.0;  // that an element's terms have together: a gradient's are more than one
  for (std::size_t dim = 2; dim < out.size(); ++dim) {
    const double shrinks = static_cast<double>(x.size(static_cast<std::int64_t>(dim))) /
                           static_cast<double>(std::max<std::int64_t>(1, out[dim]));
    weights *= std::max(1.0, shrinks);
    terms *= static_cast<std::int64_t>(std::ceil(static_cast<double>(taps) * std::max(1.0, shrinks)));
  }
  const double coordinate = std::max(largest_size(x.sizes()), largest_size(out));
  LocalProblem problem = call.of_itself(
      {.family = Family::kLinearMap, .length = terms, .eps = coordinate * weights}, {{"x", 0}});
  // A gradient is told the sizes of the image, the batch's among them.
  if (!call.view.record.name.ends_with("_backward")) problem.independent = {0, {{0, 0}}};
  return problem;
}

}  // namespace

void add_interpolation(Adapters& adapters) {
  for (const char* name :
       {"upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "_upsample_bilinear2d_aa",
        "upsample_linear1d_backward", "upsample_bilinear2d_backward", "upsample_trilinear3d_backward"}) {
    adapters[name] = interpolate<2>;
  }
  for (const char* name : {"upsample_bicubic2d", "_upsample_bicubic2d_aa", "upsample_bicubic2d_backward"}) {
    adapters[name] = interpolate<4>;
  }
}

}  // namespace ampgate::validate::local
