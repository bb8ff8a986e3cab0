// Parts of softmax that several families use.
#pragma once

#include "validate/bounds/common.h"

namespace ampgate::validate::bounds {

// FP64. The first two have the sizes of x, the others 1 along `dim`.
struct SoftmaxTerms {
  at::Tensor probability;
  at::Tensor distance;       // |x − m|, 0 for x = -inf
  at::Tensor log_sum;        // log Σ e^(x − m)
  at::Tensor mean_distance;  // Σ p|x − m|
};
SoftmaxTerms softmax_terms(const at::Tensor& x, std::int64_t dim);

// E of y = log_softmax(x) along `dim`.
at::Tensor log_softmax_error(const BoundContext& context, const at::Tensor& x, std::int64_t dim,
                             const at::Tensor& y);

}  // namespace ampgate::validate::bounds
