#include "bench/training_spread.h"

#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "results/json.h"

namespace ampgate::bench {
namespace {

std::string text(double value) { return results::number(value).dump(); }

// Euclidean, over all tensors.
double distance(c10::ArrayRef<at::Tensor> a, c10::ArrayRef<at::Tensor> b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const at::Tensor difference = a[i].to(at::kDouble) - b[i].to(at::kDouble);
    square += std::pow(at::linalg_vector_norm(difference).item<double>(), 2);
  }
  return std::sqrt(square);
}

}  // namespace

void TrainingSpread::add_reference(c10::ArrayRef<at::Tensor> tensors) {
  auto& copies = references_.emplace_back();
  for (const auto& tensor : tensors) copies.push_back(tensor.detach().clone());
}

std::string TrainingSpread::strayed(c10::ArrayRef<at::Tensor> tensors) const {
  double largest = 0, nearest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < references_.size(); ++i) {
    nearest = std::fmin(nearest, distance(references_[i], tensors));
    for (std::size_t j = 0; j < i; ++j) largest = std::max(largest, distance(references_[i], references_[j]));
  }
  if (nearest <= kFactor * largest) return "";
  return what_ + " are " + text(nearest) + " (Euclidean) from those that the same steps led to before; " +
         std::to_string(references_.size()) + " such runs were " + text(largest) + " from each other at most";
}

}  // namespace ampgate::bench
