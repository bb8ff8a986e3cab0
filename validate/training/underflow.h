// Gradients that are zero where FP64's are not: do they underflow, or do their terms cancel when they are
// rounded? Only the first is healed by a larger scale, and that is how the two are told apart.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace ampgate::validate {

// Shares are of the elements that are not zero in FP64.
struct ZeroShares {
  double underflow = 0;
  double cancelled = 0;
  std::vector<bool> lost;  // by parameter: it has such elements, and all of them underflow
};

// `trial` and `fp64`: unscaled gradients by parameter, in FP64 on the CPU; undefined: none. `scale`: with
// which the trial's were made. `with_scale` gives them with another one. Where every larger scale overflows,
// an element counts as underflow if FP64's, scaled, is under `smallest_normal`, the type's.
ZeroShares zero_shares(const std::vector<at::Tensor>& trial, const std::vector<at::Tensor>& fp64,
                       double scale, const std::function<std::vector<at::Tensor>(double scale)>& with_scale,
                       double smallest_normal);

}  // namespace ampgate::validate
