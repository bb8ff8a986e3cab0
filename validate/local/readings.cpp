#include "validate/local/readings.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "precision/formats.h"
#include "validate/call_tensors.h"
#include "validate/fp64_call.h"
#include "validate/fp64_defaults.h"
#include "validate/numbers.h"

namespace ampgate::validate::local {
namespace {

using cases::ArgumentSource;
using cases::OperatorCall;
using Kind = ArgumentSource::Kind;

cases::Outputs evaluate(const OperatorCall& call, const cases::State& state) {
  const Fp64Defaults defaults;
  torch::jit::Stack stack;
  call.push_arguments(state, {}, stack);
  const auto& declared = call.op().schema().arguments();
  for (std::size_t i = 0; i < stack.size(); ++i) ask_for_fp64(declared[i], stack[i]);
  call.op().callBoxed(stack);
  cases::Outputs outputs;
  for (const auto& result : stack) {
    for (const at::Tensor& tensor : tensors_in(result)) outputs.push_back(tensor.contiguous());
  }
  return outputs;
}

// With the arguments that are constants given to `change`, which says whether it changed any.
template <typename Change>
std::optional<OperatorCall> changed(const OperatorCall& call, Change&& change) {
  std::vector<ArgumentSource> sources = call.arguments();
  torch::jit::Stack values;
  for (const auto& source : sources)
    values.push_back(source.kind == Kind::kConstant ? source.constant : c10::IValue());
  if (!change(values)) return {};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].kind == Kind::kConstant) sources[i].constant = values[i];
  }
  return OperatorCall(call.op(), std::move(sources));
}

// The number of `type` that is next to x in the direction of `to`. Both FP64, x of the type.
at::Tensor next_number(const at::Tensor& x, const at::Tensor& to, c10::ScalarType type) {
  const auto& format = precision::format_of(type);
  // 5/4 of half a unit beyond x is nearest to its neighbour, also where the unit changes.
  const at::Tensor step = x.abs().mul_(1.25 * format.unit_roundoff()).add_(0.6 * format.smallest_subnormal());
  const at::Tensor next =
      precision::round_tensor((x + (to - x).sign() * step).contiguous(), type).to(at::kDouble);
  const at::Tensor plain = at::isfinite(x).logical_and_(at::isfinite(to)).logical_and_(x.ne(to));
  return at::where(plain, next, at::nextafter(x, to));
}

}  // namespace

std::vector<Reading> other_readings(const OperatorCall& call, c10::ScalarType type) {
  std::vector<Reading> readings;
  const auto& schema = call.op().schema();
  const auto add = [&](std::optional<OperatorCall> other) {
    if (other)
      readings.push_back({*other, [other](const cases::State& state) { return evaluate(*other, state); }});
  };
  // Of a library's operators nobody knows that they may; the fused attention is another function in FP64.
  if (!schema.name().starts_with("aten::") || schema.name() == "aten::scaled_dot_product_attention")
    return readings;
  if (schema.name() == "aten::nextafter") {
    readings.push_back({call, [call, type](const cases::State& state) {
                          torch::jit::Stack stack;
                          call.push_arguments(state, {}, stack);
                          return cases::Outputs{next_number(stack[0].toTensor(), stack[1].toTensor(), type)};
                        }});
    return readings;
  }
  const OperatorCall fitted = changed(call, [&](torch::jit::Stack& values) {
                                return fit_defaults(schema.name(), type, values);
                              }).value_or(call);
  if (base_name(schema.name()) == "nan_to_num") add(fitted);
  const auto with_numbers_in = [&](c10::ScalarType numbers) {
    add(changed(fitted, [&](torch::jit::Stack& values) { return round_numbers(schema, values, numbers); }));
  };
  with_numbers_in(at::kFloat);
  if (type != at::kFloat) with_numbers_in(type);
  return readings;
}

}  // namespace ampgate::validate::local
