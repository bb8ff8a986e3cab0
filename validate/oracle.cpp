#include "validate/oracle.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <stdexcept>

namespace ampgate::validate {
namespace {

bool is_16_bit(c10::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

bool overflowed(const at::Tensor& before, const at::Tensor& after) {
  return at::logical_and(at::isfinite(before), at::isinf(after)).any().item<bool>();
}

}  // namespace

RoundedInputs rounded_inputs(const cases::Case& definition, const cases::State& original,
                             const cases::State& prepared, const precision::Precision& precision,
                             c10::ScalarType output_type) {
  const at::NoGradGuard no_grad;
  const bool cast = precision.mode == precision::Mode::kCast;
  const bool lowered =
      precision.mode == precision::Mode::kAutocast && is_16_bit(output_type) && !definition.model;
  RoundedInputs result{prepared, cast ? precision.type : (lowered ? output_type : at::kFloat), {}};
  for (std::size_t i = 0; i < result.state.tensors.size(); ++i) {
    auto& entry = result.state.tensors[i];
    entry.tensor = entry.tensor.detach().cpu();
    if (!entry.tensor.is_floating_point()) continue;
    if (lowered) entry.tensor = entry.tensor.to(output_type);
    if ((cast || lowered) && overflowed(original[i].cpu(), entry.tensor)) {
      result.overflowed.push_back(entry.name);
    }
    entry.tensor = entry.tensor.to(at::kDouble);
  }
  return result;
}

cases::Outputs oracle(const cases::Case& definition, const cases::State& fp64) {
  const at::NoGradGuard no_grad;
  // The run gets its own tensors: an operator may write into its weights (embedding with max_norm does).
  cases::State state = fp64;
  for (auto& entry : state.tensors) entry.tensor = entry.tensor.clone();
  cases::Outputs outputs =
      (definition.reference_run != nullptr ? definition.reference_run : definition.run)(state);
  if (outputs.size() != definition.outputs.size()) {
    throw std::logic_error("case " + definition.name + " returned " + std::to_string(outputs.size()) +
                           " outputs and names " + std::to_string(definition.outputs.size()));
  }
  for (auto& output : outputs) {
    if (output.scalar_type() != at::kDouble) {
      throw std::logic_error("case " + definition.name + ": an output of the oracle is not float64");
    }
    output = output.contiguous();
  }
  return outputs;
}

}  // namespace ampgate::validate
