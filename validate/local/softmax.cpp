// Softmax, its logarithm, and cross entropy with class indices.
#include <ATen/ATen.h>

#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

using cases::Family;

template <Family family>
std::optional<LocalProblem> along(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  const std::int64_t dim = at::maybe_wrap_dim(call.arguments.at(1).toInt(), x.dim());
  if (x.dim() == 0) return {};
  LocalProblem problem = call.of_itself({.family = family, .length = x.size(dim), .dims = {dim}}, {{"x", 0}});
  if (x.dim() > 1) {
    const std::int64_t other = dim == 0 ? 1 : 0;
    problem.independent = {other, {{0, other}}};
  }
  return problem;
}

std::optional<LocalProblem> cross_entropy(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  const at::Tensor& target = call.tensor(1);
  const bool weighted = call.is_tensor(2) && call.tensor(2).defined();
  const bool mean = call.arguments.at(3).toInt() == at::Reduction::Mean;
  const bool smoothed = call.number(5).value_or(0.0) != 0.0;
  if (weighted || !mean || smoothed || x.dim() != 2 || target.dim() != 1 ||
      target.eq(call.arguments.at(4).toInt()).any().item<bool>()) {
    return {};
  }
  return call.of_itself({.family = Family::kCrossEntropy}, {{"x", 0}, {"target", 1}});
}

}  // namespace

void add_softmax(Adapters& adapters) {
  adapters["softmax"] = along<Family::kSoftmax>;
  adapters["_softmax"] = along<Family::kSoftmax>;
  adapters["log_softmax"] = along<Family::kLogSoftmax>;
  adapters["_log_softmax"] = along<Family::kLogSoftmax>;
  adapters["cross_entropy_loss"] = cross_entropy;
}

}  // namespace ampgate::validate::local
