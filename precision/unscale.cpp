#include "precision/unscale.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "precision/grad_scaler_error.h"

namespace ampgate::precision {
namespace {

// Gradients that one kernel call can take.
struct Group {
  c10::Device device;
  c10::ScalarType type;
  std::vector<at::Tensor> gradients;
};

void add(std::vector<Group>& groups, const at::Tensor& gradient) {
  const auto same = [&](const Group& group) {
    return group.device == gradient.device() && group.type == gradient.scalar_type();
  };
  auto group = std::find_if(groups.begin(), groups.end(), same);
  if (group == groups.end()) {
    group = groups.insert(groups.end(), {gradient.device(), gradient.scalar_type(), {}});
  }
  group->gradients.push_back(gradient);
}

std::vector<Group> grouped_gradients(const std::vector<at::Tensor>& parameters) {
  std::vector<Group> groups;
  for (const at::Tensor& parameter : parameters) {
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    if (gradient.scalar_type() == at::kHalf) {
      throw GradScalerError("Attempting to unscale FP16 gradients.");
    }
    add(groups, gradient.is_sparse() ? gradient._values() : gradient);
  }
  return groups;
}

// The entry of that device, made with 0 where there is none yet.
at::Tensor& found_inf_on(c10::Device device, std::vector<FoundInf>& all) {
  for (FoundInf& found : all) {
    if (found.device == device) return found.value;
  }
  all.push_back({device, at::zeros({}, at::TensorOptions(device).dtype(at::kFloat))});
  return all.back().value;
}

}  // namespace

std::vector<FoundInf> multiply_gradients(const std::vector<at::Tensor>& parameters,
                                         const at::Tensor& inverse) {
  const at::NoGradGuard no_grad;
  std::vector<FoundInf> found;
  for (const Group& group : grouped_gradients(parameters)) {
    at::_amp_foreach_non_finite_check_and_unscale_(group.gradients, found_inf_on(group.device, found),
                                                   inverse.to(group.device, /*non_blocking=*/true));
  }
  return found;
}

}  // namespace ampgate::precision
