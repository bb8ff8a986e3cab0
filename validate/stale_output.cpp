#include "validate/stale_output.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace ampgate::validate {

void StaleOutput::note(const std::string& case_name, const at::Tensor& output) {
  constexpr std::int64_t kKept = 1 << 16;
  if (case_name == name_) return;
  previous_ = latest_;
  name_ = case_name;
  const at::Tensor flat = output.detach().reshape({-1});
  latest_ = flat.narrow(0, 0, std::min(kKept, flat.numel())).to(at::kCPU, at::kDouble).clone();
}

}  // namespace ampgate::validate
