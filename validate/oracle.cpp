#include "validate/oracle.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <string>

#include "backends/poison_allocator.h"
#include "precision/formats.h"
#include "validate/case_fault.h"
#include "validate/failure.h"
#include "validate/fp64_defaults.h"
#include "validate/unwritten.h"

namespace ampgate::validate {
namespace {

bool overflowed(const at::Tensor& before, const at::Tensor& after) {
  return at::logical_and(at::isfinite(before), at::isinf(after)).any().item<bool>();
}

// The run's own tensors: an operator may write into its weights (embedding with max_norm does).
cases::State copy_of(cases::State state) {
  for (auto& entry : state.tensors) entry.tensor = entry.tensor.clone();
  return state;
}

// What the run does not write is NaN, never what the memory happened to hold.
cases::Outputs run_poisoned(const cases::Case& definition, cases::State& state) {
  const backends::PoisonScope poisoned;
  const Fp64Defaults defaults;
  return (definition.reference_run != nullptr ? definition.reference_run : definition.run)(state);
}

}  // namespace

RoundedInputs rounded_inputs(const cases::Case& definition, const cases::State& original,
                             const cases::State& prepared, const precision::Precision& precision,
                             c10::ScalarType output_type) {
  const at::NoGradGuard no_grad;
  const bool cast = precision.mode == precision::Mode::kCast;
  const bool lowered =
      precision.mode == precision::Mode::kAutocast && precision::is_16_bit(output_type) && !definition.model;
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
  cases::State state = copy_of(fp64);
  cases::Outputs outputs;
  try {
    outputs = run_poisoned(definition, state);
  } catch (const c10::Error& error) {
    if (!is_refusal(error)) throw;
    const std::string said = error.what_without_backtrace();
    throw CaseFault("in FP64 on the CPU it fails: " + said.substr(0, said.find('\n')));
  }
  if (outputs.size() != definition.outputs.size()) {
    throw CaseFault("in FP64 it returns " + std::to_string(outputs.size()) + " outputs and names " +
                    std::to_string(definition.outputs.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = "in FP64 its output " + definition.outputs[i];
    if (!outputs[i].defined()) throw CaseFault(name + " is undefined");
    if (outputs[i].layout() != at::kStrided || outputs[i].is_quantized())
      throw CaseFault(name + " is no dense tensor of numbers: nothing else can be judged");
    const auto type = outputs[i].scalar_type();
    if (outputs[i].is_complex()) throw CaseFault(name + " is complex: only real numbers can be judged");
    if (type != at::kDouble && !c10::isIntegralType(type, true)) {
      throw CaseFault(name + " has type " + c10::toString(type) + ": it asks for that type by name");
    }
    if (outputs[i].device() != at::kCPU) throw CaseFault(name + " is on " + outputs[i].device().str());
    outputs[i] = outputs[i].contiguous();
  }
  return outputs;
}

void check_written(const cases::Case& definition, const cases::State& fp64, const cases::Outputs& oracle,
                   const std::string& part) {
  const UnwrittenElements unwritten = unwritten_elements(oracle);
  if (unwritten.count == 0) return;
  const at::NoGradGuard no_grad;
  Tracer tracer;
  cases::State state = copy_of(fp64);
  cases::Outputs outputs;
  {
    const InterceptScope intercept(tracer);
    outputs = run_poisoned(definition, state);
  }
  std::vector<std::size_t> reached;
  for (const at::Tensor& output : outputs) {
    const auto writers = tracer.bad_writers(output);
    reached.insert(reached.end(), writers.begin(), writers.end());
  }
  const auto memory = unfilled_memory(tracer.calls(), reached);
  throw CaseFault("in FP64 " + sentence(unwritten, memory, definition, outputs) + part +
                  (memory ? ": " + sentence(*memory, tracer.calls()) : ""));
}

c10::ScalarType judged_type(const cases::Outputs& outputs, std::size_t output) {
  if (outputs[output].is_floating_point()) return outputs[output].scalar_type();
  for (const auto& other : outputs) {
    if (other.is_floating_point()) return other.scalar_type();
  }
  return at::kFloat;
}

}  // namespace ampgate::validate
