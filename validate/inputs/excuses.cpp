#include "validate/inputs/excuses.h"

#include <ATen/ATen.h>

#include "precision/formats.h"
#include "validate/oracle.h"

namespace ampgate::validate {
namespace {

using cases::Family;
using cases::State;

template <typename Function>
at::Tensor on(const cases::Case& definition, const State& inputs, std::size_t number, Function&& change) {
  State state = inputs;
  for (auto& entry : state.tensors) {
    if (entry.tensor.is_floating_point()) entry.tensor = change(entry.tensor);
  }
  return oracle(definition, state)[number];
}

// Fewer terms than elsewhere: on ones a product counts them.
at::Tensor reached_by_padding(const cases::Case& definition, const State& inputs, std::size_t number) {
  const at::Tensor terms =
      on(definition, inputs, number, [](const at::Tensor& tensor) { return at::ones_like(tensor); });
  return terms.lt(terms.max());
}

at::Tensor overflowing_sums(const cases::Case& definition, const State& inputs, std::size_t number,
                            double largest, double divisor) {
  const at::Tensor sums =
      on(definition, inputs, number, [](const at::Tensor& tensor) { return tensor.abs(); });
  // An infinite or NaN input is no overflow.
  return sums.mul(divisor).gt(largest).logical_and_(sums.isfinite());
}

}  // namespace

at::Tensor excused(const cases::Case& definition, const cases::BoundSpec& bound, const Reference& reference,
                   const at::Tensor& output, std::size_t number) {
  if (!reference.oracle[number].is_floating_point()) return output;
  const at::Tensor right = precision::round_tensor(reference.oracle[number], output.scalar_type());
  if (output.numel() == 0 || output.sizes() != right.sizes()) return output;
  const State& inputs = reference.inputs.state;
  const at::Tensor found = output.cpu();
  at::Tensor excuse = at::zeros_like(right, at::kBool);
  const double largest = precision::format_of(at::kFloat).max;
  switch (bound.family) {
    case Family::kInnerProduct:
      excuse = reached_by_padding(definition, inputs, number)
                   .logical_and_(found.isnan().logical_or_(right.isnan()));
      excuse.logical_or_(overflowing_sums(definition, inputs, number, largest, 1.0));
      break;
    case Family::kSum:
    case Family::kCumsum:
      excuse = overflowing_sums(definition, inputs, number, largest, 1.0);
      break;
    case Family::kMean:
      excuse = overflowing_sums(definition, inputs, number, largest, static_cast<double>(bound.length));
      break;
    case Family::kIndexAdd:
      excuse =
          overflowing_sums(definition, inputs, number, precision::format_of(output.scalar_type()).max, 1.0);
      break;
    default:
      return output;
  }
  return at::where(excuse, right, found);
}

}  // namespace ampgate::validate
