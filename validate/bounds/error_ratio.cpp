// Operators of no known family: the RMS error against that of rounding the oracle, and a wide limit for each
// element, so that no single one goes astray. What is accepted is `suspect`: no bound explains it.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "validate/bounds/common.h"
#include "validate/bounds/families.h"
#include "validate/elements.h"
#include "validate/text.h"

namespace ampgate::validate::bounds {
namespace {

constexpr std::int64_t kFewElements = 256;
constexpr double kElementLimits = 8.0;  // of the RMS error allowed
constexpr double kElementUnits = 3.0;   // and of u |y|, where a few large elements carry the RMS
constexpr double kJump = 0x1p-10;       // of the output's own scale, for a step of u32 in the inputs
constexpr double kSteps = 2.0;          // roundings to 16 bit on the way

double elements_read(const cases::State& state) {
  double count = 0.0;
  for (const auto& entry : state.tensors) {
    if (entry.tensor.is_floating_point()) count += static_cast<double>(entry.tensor.numel());
  }
  return count;
}

// What inputs that are off by `unit` (standard deviation, independently) do to each element.
struct Response {
  at::Tensor squares;  // mean over the draws
  at::Tensor largest;  // absolute
};

// Every other draw is the opposite of the one before: a jump shows on the one side or the other.
Response response(const BoundContext& context, std::size_t output, double unit) {
  const at::Tensor& y = context.oracle[output];
  const int draws = y.numel() < kFewElements ? 8 : 2;
  const double spread = std::sqrt(3.0) * unit;
  Response result{at::zeros_like(y), at::zeros_like(y)};
  for (int draw = 0; draw < draws; ++draw) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(1 + draw / 2));
    const double sign = draw % 2 == 0 ? 1.0 : -1.0;
    cases::State state = context.inputs;
    for (auto& entry : state.tensors) {
      if (!entry.tensor.is_floating_point()) continue;
      const at::Tensor off = at::empty_like(entry.tensor).uniform_(-spread, spread, generator);
      entry.tensor = entry.tensor * off.mul_(sign).add_(1.0);
    }
    const at::Tensor moved = at::nan_to_num((context.evaluate(state)[output] - y).abs_(), 0.0, 0.0, 0.0);
    result.squares.addcmul_(moved, moved);
    result.largest = at::maximum(result.largest, moved);
  }
  result.squares.div_(draws);
  return result;
}

// Where a step of u32 moves the result by far more than that. A function that does so nearly everywhere is
// ill-conditioned, and jumps nowhere.
at::Tensor jumps(const Response& response, const at::Tensor& y) {
  const at::Tensor scale = at::nan_to_num(y, 0.0, 0.0, 0.0).abs().clamp_min_(finite_rms(y));
  const at::Tensor jumping = response.largest.gt(scale * kJump);
  const auto count = jumping.sum().item<std::int64_t>();
  if (count == 0 || 2 * count > y.numel()) return {};
  return response.largest.mul(2.0).masked_fill_(jumping.logical_not(), 0.0);
}

// Each element of the result is made of one of each tensor.
bool goes_by_elements(const BoundContext& context, const at::Tensor& y) {
  bool whole = false;
  for (const auto& entry : context.inputs.tensors) {
    if (!entry.tensor.is_floating_point()) continue;
    if (!at::is_expandable_to(entry.tensor.sizes(), y.sizes())) return false;
    whole = whole || entry.tensor.sizes() == y.sizes();
  }
  return whole;
}

}  // namespace

// RMS error <= ratio RMS(RN(y) - y) + smallest subnormal, with room for what the ratio does not know: that
// the rounding of a few elements may be luckily small, that sums of n terms are kept in FP32, and that a
// function of one number is known in FP32 to some units in the last place (LibTorch's i0 to four).
Bound error_ratio(const BoundContext& context, std::size_t output) {
  const at::Tensor& y = context.oracle[output];
  const auto& format = precision::format_of(context.output_type);
  const double unit = format.unit_roundoff();
  double rounding = finite_rms(precision::round_tensor(y, context.output_type).to(at::kDouble) - y);
  if (y.numel() < kFewElements) rounding = std::max(rounding, 0.5 * unit * finite_rms(y));
  const double terms = y.numel() == 0 ? 1.0 : elements_read(context.inputs) / static_cast<double>(y.numel());
  Response moved = response(context, output, kUnitFp32);

  Bound bound;
  bound.jumps = jumps(moved, y);
  if (bound.jumps.defined()) moved.squares.masked_fill_(bound.jumps.gt(0.0), 0.0);
  const double sensitivity = finite_rms(moved.squares.sqrt_());
  const double accumulation = context.rules.bounds.lambda * std::sqrt(std::max(1.0, terms)) *
                              std::hypot(sensitivity, kUnitFp32 * finite_rms(y));
  bound.rms_limit = context.rules.bounds.error_ratio * rounding + accumulation + format.smallest_subnormal();
  bound.error = y.abs().mul_(kElementUnits * unit).add_(kElementLimits * bound.rms_limit);
  bound.criterion = "error ratio";
  bound.source = "RMS error against " + text(context.rules.bounds.error_ratio) +
                 " x that of rounding alone; each element against " + text(kElementLimits) + " x as much + " +
                 text(kElementUnits) + " u |y|";
  return bound;
}

void allow_16_bit_steps(const BoundContext& context, std::size_t output, Bound& bound) {
  const at::Tensor& y = context.oracle[output];
  if (!is_16_bit(context.output_type) || !goes_by_elements(context, y)) return;
  const Response moved = response(context, output, unit_of(context.output_type));
  bound.rms_hard = bound.rms_limit + kSteps * finite_rms(moved.squares.sqrt());
  bound.hard =
      bound.error + moved.largest * (kSteps * kSteps) + kElementLimits * (bound.rms_hard - bound.rms_limit);
  bound.hard_source = "results that its kernel keeps in 16 bit on the way";
}

}  // namespace ampgate::validate::bounds
