#include "cases/needs.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include "cases/execute.h"
#include "cases/fills.h"
#include "cases/independent.h"

namespace ampgate::cases {
namespace {

constexpr double kLargestSlice = 67108864;  // bytes

double bytes_of(const State& state) {
  double bytes = 0.0;
  for (const auto& entry : state.tensors) bytes += static_cast<double>(entry.tensor.nbytes());
  return bytes;
}

// Outputs without values. Many kernels know no tensors without values: then from a run on zeros of one
// position along each independent axis. Throws c10::Error where neither can be had.
Outputs outputs_of(const Case& definition, const Facts& facts, State& state) {
  try {
    return definition.visible_run()(state);
  } catch (const c10::Error&) {
    // Operators of the user's own run for the first time where a crash is a verdict.
    if (!definition.file_sha256.empty()) throw;
  }
  State slice = state;
  for (const auto& axis : facts.independent) {
    for (const auto& [tensor, dim] : axis.operands) {
      at::Tensor& operand = slice.tensors.at(tensor).tensor;
      operand = operand.narrow(dim, 0, 1);
    }
  }
  for (auto& entry : slice.tensors) entry.tensor = at::empty(entry.tensor.sizes(), entry.tensor.options());
  TORCH_CHECK(bytes_of(slice) <= kLargestSlice,
              "even one position of its outputs needs too much memory to try");
  for (auto& entry : slice.tensors)
    entry.tensor = at::zeros(entry.tensor.sizes(), entry.tensor.options().device(at::kCPU));
  Outputs outputs = definition.visible_run()(slice);
  for (auto& output : outputs)
    output = at::empty(whole_sizes(output.sizes(), facts, state), output.options().device(at::kMeta));
  return outputs;
}

}  // namespace

Needs needs(const Case& definition, const Shape& shape, const precision::Precision& precision) {
  const at::NoGradGuard no_grad;
  const Facts facts = definition.facts(shape);
  const Fill sizes_only(0, definition.name, shape.name, FillKind::kNone);
  State state = prepare(definition.setup(shape, sizes_only), precision, at::kMeta);
  Needs result{.flops = facts.flops, .tensor_bytes = bytes_of(state)};
  try {
    const Outputs outputs = outputs_of(definition, facts, state);
    result.output_bytes = written_bytes(outputs);
    result.moved_bytes = least_bytes(facts, state, outputs);
  } catch (const c10::Error& error) {
    result.no_outputs = error.what_without_backtrace();
  } catch (const std::exception& error) {
    result.no_outputs = error.what();
  }
  return result;
}

}  // namespace ampgate::cases
