#include "validate/inputs/freivalds.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "cases/execute.h"
#include "cases/fills.h"
#include "validate/elements.h"
#include "validate/inputs/operands.h"
#include "validate/oracle.h"

namespace ampgate::validate {
namespace {

constexpr std::int64_t kVectors = 2;
constexpr std::int64_t kChunk = 1 << 18;  // elements that are widened to FP64 at a time

at::Tensor contracted(const at::Tensor& tensor, std::int64_t dim, const at::Tensor& vectors) {
  return at::matmul(tensor.movedim(dim, -1).to(at::kDouble), vectors).movedim(-1, dim);
}

// Odd and so large that no sum exceeds the integers of FP64.
at::Tensor odd_vectors(std::int64_t size, double limit, std::uint64_t seed) {
  const double room = 0x1p53 / (limit * static_cast<double>(size));
  const auto half = std::clamp<std::int64_t>(static_cast<std::int64_t>(room) / 2, 1, 512);
  const cases::Fill fill(seed, "freivalds", std::to_string(size));
  return fill.integers("vectors", {size, kVectors}, 0, half).mul_(2).add_(1).to(at::kDouble);
}

}  // namespace

const cases::IndependentAxis* linear_axis(const cases::Facts& facts, const cases::State& state) {
  if (facts.bound.family != cases::Family::kInnerProduct) return nullptr;
  const auto added = added_tensors(facts.bound, state);
  for (const auto& axis : facts.independent) {
    std::size_t multiplied = 0;
    std::size_t also_added = 0;
    for (const auto& operand : axis.operands) {
      const bool adds = std::find(added.begin(), added.end(), operand.tensor) != added.end();
      if (state[operand.tensor].is_floating_point()) ++(adds ? also_added : multiplied);
    }
    if (multiplied == 1 && also_added == added.size()) return &axis;
  }
  return nullptr;
}

std::optional<std::vector<std::int64_t>> wrong_line(const cases::Case& definition,
                                                    const cases::IndependentAxis& axis,
                                                    const cases::State& inputs, const at::Tensor& output,
                                                    double limit, std::uint64_t seed) {
  const std::int64_t size = output.size(axis.output_dim);
  const at::Tensor vectors = odd_vectors(size, limit, seed);
  cases::State contracted_inputs = inputs;
  for (const auto& [tensor, dim] : axis.operands) {
    at::Tensor& operand = contracted_inputs.tensors[tensor].tensor;
    operand = contracted(operand, dim, vectors);
  }
  const at::Tensor expected = oracle(definition, cases::converted(contracted_inputs, at::kDouble))[0]
                                  .movedim(axis.output_dim, -1)
                                  .reshape({-1, kVectors});

  const at::Tensor moved = output.detach().cpu().movedim(axis.output_dim, -1);
  const at::Tensor lines = moved.reshape({-1, size});
  const std::int64_t step = std::max<std::int64_t>(1, kChunk / std::max<std::int64_t>(size, 1));
  for (std::int64_t start = 0; start < lines.size(0); start += step) {
    const std::int64_t count = std::min(step, lines.size(0) - start);
    const at::Tensor found = at::matmul(lines.narrow(0, start, count).to(at::kDouble), vectors);
    const at::Tensor wrong = found.ne(expected.narrow(0, start, count)).any(1);
    if (!wrong.any().item<bool>()) continue;
    const std::int64_t line = start + wrong.nonzero()[0].item<std::int64_t>();
    std::vector<std::int64_t> position = position_of(line, moved.sizes().slice(0, moved.sizes().size() - 1));
    position.insert(position.begin() + axis.output_dim, -1);
    return position;
  }
  return {};
}

}  // namespace ampgate::validate
