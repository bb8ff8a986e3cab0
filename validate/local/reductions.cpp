// Sums, means, prefix sums, average pooling.
#include <ATen/ATen.h>

#include "validate/local/adapter.h"

namespace ampgate::validate::local {
namespace {

using cases::Family;

std::vector<std::int64_t> reduced_dims(const LocalCall& call) {
  const std::int64_t rank = call.tensor(0).dim();
  std::vector<std::int64_t> dims;
  const auto position = call.find("dim");
  if (position && call.arguments[*position].isIntList()) dims = call.arguments[*position].toIntVector();
  if (dims.empty()) {
    for (std::int64_t dim = 0; dim < rank; ++dim) dims.push_back(dim);
  }
  for (auto& dim : dims) dim = at::maybe_wrap_dim(dim, rank);
  return dims;
}

template <Family family>
std::optional<LocalProblem> reduce(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  if (!x.is_floating_point() || x.dim() == 0) return {};
  const auto dims = reduced_dims(call);
  LocalProblem problem = call.of_itself({.family = family, .dims = dims}, {{"x", 0}});
  if (std::find(dims.begin(), dims.end(), 0) == dims.end()) problem.independent = {0, {{0, 0}}};
  return problem;
}

std::optional<LocalProblem> cumsum(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  if (!x.is_floating_point() || x.dim() == 0) return {};
  const std::int64_t dim = at::maybe_wrap_dim(call.arguments.at(1).toInt(), x.dim());
  LocalProblem problem = call.of_itself({.family = Family::kCumsum, .dims = {dim}}, {{"x", 0}});
  if (dim != 0) problem.independent = {0, {{0, 0}}};
  return problem;
}

// Each output adds up at most as many inputs as fall on it; padding only makes it fewer.
std::optional<LocalProblem> pool(const LocalCall& call) {
  const at::Tensor& x = call.tensor(0);
  const std::int64_t outputs = std::max<std::int64_t>(1, call.view.outputs.at(0).numel());
  std::int64_t terms = x.numel() / outputs + 1;
  if (const auto kernel = call.find("kernel_size")) {
    const auto sizes = call.arguments[*kernel].toIntVector();
    terms = 1;
    for (std::size_t i = 0; i < 3; ++i) terms *= sizes[std::min(i, sizes.size() - 1)];
  }
  return call.of_itself({.family = Family::kLinearMap, .length = terms}, {{"x", 0}});
}

std::optional<LocalProblem> index_add(const LocalCall& call) {
  const auto alpha = call.find("alpha");
  if (alpha && call.number(*alpha).value_or(1.0) != 1.0) return {};
  const std::int64_t dim = at::maybe_wrap_dim(call.arguments.at(1).toInt(), call.tensor(0).dim());
  return call.of_itself({.family = Family::kIndexAdd, .dims = {dim}},
                        {{"self", 0}, {"index", 2}, {"source", 3}});
}

}  // namespace

void add_reductions(Adapters& adapters) {
  adapters["sum"] = reduce<Family::kSum>;
  adapters["mean"] = reduce<Family::kMean>;
  adapters["cumsum"] = cumsum;
  adapters["index_add"] = index_add;
  for (const char* name : {"avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
                           "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d"}) {
    adapters[name] = pool;
  }
}

}  // namespace ampgate::validate::local
