// Wrong rounding, wrong types, wrong treatment of special values.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <cmath>

#include "validate/selftest/faults.h"
#include "validate/selftest/results.h"

namespace ampgate::validate::selftest {
namespace {

at::Tensor truncated(Call& call) { return truncated_to(call.in_fp64(call.seen()), call.type()); }

at::Tensor ties_away(Call& call) {
  const at::Tensor exact = call.in_fp64(call.seen()).cpu();
  const at::Tensor rounded = precision::round_tensor(exact, call.type());
  const at::Tensor other = away_from_zero(rounded);
  const at::Tensor below = exact.abs() - rounded.to(at::kDouble).abs();
  const at::Tensor above = other.to(at::kDouble).abs() - exact.abs();
  return at::where(below.eq(above), other, rounded).to(call.right().device());
}

at::Tensor rounded_twice(Call& call) {
  if (!precision::is_16_bit(call.type())) return {};
  const at::Tensor once = precision::round_tensor(call.in_fp64(call.seen()).cpu(), at::kFloat);
  return precision::round_tensor(once.to(at::kDouble), call.type()).to(call.right().device());
}

at::Tensor through_bf16(Call& call) {
  if (call.type() == at::kBFloat16) return {};
  return call.right().to(at::kBFloat16).to(call.type());
}

// A type that neither the precision nor the operands ask for.
at::Tensor wrong_type(Call& call) {
  const auto device = call.right().device().type();
  const bool bf16 =
      call.type() == at::kBFloat16 || (at::autocast::is_autocast_enabled(device) &&
                                       at::autocast::get_autocast_dtype(device) == at::kBFloat16);
  return call.right().to(bf16 ? at::kHalf : at::kBFloat16);
}

at::Tensor flushed(const at::Tensor& tensor) {
  const auto& format = precision::format_of(tensor.scalar_type());
  return tensor.masked_fill(tensor.to(at::kDouble).abs().lt(std::ldexp(1.0, format.min_exponent)), 0.0);
}

at::Tensor subnormals_flushed(Call& call) {
  Arguments operands = call.arguments();
  for (const std::size_t i : call.floating()) {
    at::Tensor operand = operands[i].toTensor();
    if (precision::is_16_bit(call.type())) operand = operand.to(call.type());
    operands[i] = flushed(operand);
  }
  return flushed(call.with(operands));
}

at::Tensor saturated(Call& call) {
  const double largest = precision::format_of(call.type()).max;
  return call.right().clamp(-largest, largest);
}

at::Tensor nan_swallowed(Call& call) {
  const at::Tensor& right = call.right();
  return right.masked_fill(right.isnan(), 0.0);
}

}  // namespace

void add_rounding_faults(Faults& faults) {
  for (const auto& [kind, kernel] : {std::pair<const char*, Kernel>{"truncated", truncated},
                                     {"ties-away", ties_away},
                                     {"rounded-twice", rounded_twice},
                                     {"through-bf16", through_bf16},
                                     {"subnormals-flushed", subnormals_flushed},
                                     {"negative-zero-lost", [](Call& call) { return call.right() + 0.0; }},
                                     {"saturated", saturated},
                                     {"nan-swallowed", nan_swallowed}}) {
    faults[kind] = {kernel, Hits::kAll};
  }
  faults["wrong-type"] = {wrong_type, Hits::kOne, true};
  faults["wrong-shape"] = {[](Call& call) { return call.right().unsqueeze(0); }, Hits::kOne, true};
}

}  // namespace ampgate::validate::selftest
