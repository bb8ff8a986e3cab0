// Faults of normalisations and means.
#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "validate/selftest/faults.h"
#include "validate/selftest/results.h"

namespace ampgate::validate::selftest {
namespace {

// Over how many elements layer_norm, rms_norm, group_norm or mean take their mean.
std::int64_t elements(Call& call) {
  const auto& arguments = call.arguments();
  const at::Tensor x = arguments[0].toTensor();
  if (const auto groups = call.find("num_groups"))
    return x.numel() / (x.size(0) * arguments[*groups].toInt());
  if (const auto shape = call.find("normalized_shape")) {
    const auto sizes = arguments[*shape].toIntVector();
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  }
  return x.numel() / std::max<std::int64_t>(1, call.right().numel());
}

Kernel eps_times(double factor) {
  return [factor](Call& call) -> at::Tensor {
    const auto eps = call.find("eps");
    if (!eps || !call.arguments()[*eps].isDouble()) return {};
    return call.exact(
        [&](Arguments& changed) { changed[*eps] = call.arguments()[*eps].toDouble() * factor; });
  };
}

at::Tensor weight_ignored(Call& call) {
  const auto weight = call.find("weight");
  if (!weight || call.arguments()[*weight].isNone()) return {};
  return call.exact([&](Arguments& changed) { changed[*weight] = c10::IValue(); });
}

// Dividing by n - 1 makes the variance n / (n - 1) times as large: the same as a smaller weight and eps.
at::Tensor n_minus_one(Call& call) {
  const auto n = static_cast<double>(elements(call));
  if (n < 2.0) return {};
  if (call.name() == "mean") {
    const at::Tensor larger = call.in_fp64(call.seen()) * (n / (n - 1.0));
    return precision::round_tensor(larger.cpu(), call.type()).to(larger.device());
  }
  const auto weight = call.find("weight"), eps = call.find("eps");
  if (!weight || call.arguments()[*weight].isNone() || !eps || !call.arguments()[*eps].isDouble()) return {};
  return call.exact([&](Arguments& changed) {
    changed[*weight] = changed[*weight].toTensor() * std::sqrt((n - 1.0) / n);
    changed[*eps] = changed[*eps].toDouble() * (n - 1.0) / n;
  });
}

// Each row or group with its variance as E[x^2] - E[x]^2, both means in FP32.
at::Tensor one_pass_variance(Call& call) {
  const auto eps = call.find("eps"), bias = call.find("bias");
  if (!eps || !bias) return {};
  const Arguments seen = call.seen();
  const at::Tensor x = seen[0].toTensor();
  const at::Tensor rows = x.reshape({-1, elements(call)});
  const at::Tensor narrow = rows.to(at::kFloat);
  const at::Tensor mean = narrow.mean(1, true);
  const at::Tensor one_pass =
      (narrow.square().mean(1, true) - mean.square()).to(at::kDouble) + seen[*eps].toDouble();
  const at::Tensor two_pass = rows.var(1, /*unbiased=*/false, /*keepdim=*/true) + seen[*eps].toDouble();
  const at::Tensor ratio = (two_pass / one_pass).sqrt().expand_as(rows).reshape(x.sizes());
  Arguments without = seen;
  without[*bias] = c10::IValue();
  const at::Tensor scaled = call.in_fp64(without);
  const at::Tensor result = call.in_fp64(seen) + scaled * (ratio - 1.0);
  return precision::round_tensor(result.cpu(), call.type()).to(result.device());
}

at::Tensor wrong_groups(Call& call) {
  const auto groups = call.find("num_groups");
  const std::int64_t count = groups ? call.arguments()[*groups].toInt() : 1;
  if (count % 2 != 0) return {};
  return call.exact([&](Arguments& changed) { changed[*groups] = count / 2; });
}

at::Tensor batch_statistics(Call& call) {
  const auto training = call.find("training");
  if (!training || call.arguments()[*training].toBool()) return {};
  return call.exact([&](Arguments& changed) { changed[*training] = true; });
}

at::Tensor mean_ignored(Call& call) {
  const auto mean = call.find("running_mean");
  if (!mean || call.arguments()[*mean].isNone()) return {};
  return call.exact([&](Arguments& changed) { changed[*mean] = at::zeros_like(changed[*mean].toTensor()); });
}

}  // namespace

void add_norm_faults(Faults& faults) {
  faults["eps-ignored"] = {eps_times(0.0)};
  faults["eps-wrong"] = {eps_times(1000.0)};
  faults["weight-ignored"] = {weight_ignored};
  faults["n-minus-one"] = {n_minus_one};
  faults["one-pass-variance"] = {one_pass_variance};
  faults["wrong-groups"] = {wrong_groups};
  faults["batch-statistics"] = {batch_statistics};
  faults["mean-ignored"] = {mean_ignored};
}

}  // namespace ampgate::validate::selftest
