#include "validate/selftest/results.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ampgate::validate::selftest {
namespace {

// Formats are sign and magnitude: the next value in magnitude is the next integer.
at::Tensor stepped(const at::Tensor& rounded, int step) {
  at::Tensor result = rounded.contiguous().clone();
  result.view(result.element_size() == 2 ? at::kShort : at::kInt).add_(step);
  return result;
}

}  // namespace

at::Tensor copy_of(const at::Tensor& right) { return right.contiguous().clone(at::MemoryFormat::Contiguous); }

std::int64_t typical_element(Call& call) {
  const at::Tensor values = call.right().cpu().to(at::kDouble).contiguous();
  const double* const data = values.const_data_ptr<double>();
  const std::int64_t count = values.numel();
  double squares = 0.0;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(data[i])) continue;
    squares += data[i] * data[i];
    ++finite;
  }
  const double typical = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) * (1.0 - 1e-9) : 0.0;
  const auto start = static_cast<std::int64_t>(mixed(call.seed(), 1) % static_cast<std::uint64_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = (start + i) % count;
    if (std::isfinite(data[place]) && data[place] != 0.0 && std::abs(data[place]) >= typical) return place;
  }
  return start;
}

at::Tensor truncated_to(const at::Tensor& fp64, c10::ScalarType type) {
  const at::Tensor rounded = precision::round_tensor(fp64.cpu(), type);
  const at::Tensor too_far = rounded.to(at::kDouble).abs().gt(fp64.cpu().abs());
  return at::where(too_far, towards_zero(rounded), rounded).to(fp64.device());
}

at::Tensor towards_zero(const at::Tensor& rounded) { return stepped(rounded, -1); }

at::Tensor away_from_zero(const at::Tensor& rounded) { return stepped(rounded, 1); }

}  // namespace ampgate::validate::selftest
