#include "cases/checks.h"

#include <ATen/ops/tensor.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace ampgate::cases {

std::vector<double> values_at(const at::Tensor& output, const std::vector<std::int64_t>& positions) {
  const at::Tensor flat = output.detach().to(at::kCPU).contiguous().view(-1);
  for (const std::int64_t position : positions) {
    if (position < 0 || position >= flat.numel()) {
      throw std::out_of_range("no position " + std::to_string(position));
    }
  }
  const at::Tensor values =
      flat.index_select(0, at::tensor(positions, at::kLong)).to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

bool allowed(double value, double low, double high) {
  if (std::isnan(low) && std::isnan(high)) return std::isnan(value);
  return low <= value && value <= high;
}

}  // namespace ampgate::cases
