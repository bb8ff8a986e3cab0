#include "cases/execute.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty_strided.h>

#include <limits>

namespace ampgate::cases {
namespace {

// A copy that lies as the original does: LibTorch's own closes the gaps between elements.
at::Tensor copied(const at::Tensor& tensor, c10::Device device, c10::ScalarType type) {
  const bool gaps = at::has_internal_overlap(tensor) == at::MemOverlap::TooHard;
  if (!gaps || device.is_meta()) return tensor.to(device, type, false, true);
  at::Tensor result =
      at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(device).dtype(type));
  if (c10::isFloatingType(type)) {
    const auto bytes = static_cast<std::int64_t>(result.storage().nbytes());
    const std::int64_t elements = bytes / static_cast<std::int64_t>(result.element_size());
    result.as_strided({elements}, {1}, 0).fill_(std::numeric_limits<double>::quiet_NaN());
  }
  return result.copy_(tensor);
}

}  // namespace

State prepare(const State& original, const precision::Precision& precision, c10::Device device) {
  State result = original;
  for (auto& entry : result.tensors) {
    const bool convert = precision.mode == precision::Mode::kCast && entry.tensor.is_floating_point();
    // A copy even where nothing changes: a trial must not see what another trial wrote.
    entry.tensor =
        copied(entry.tensor, device, convert ? precision.type : entry.tensor.scalar_type()).detach();
  }
  return result;
}

State converted(const State& original, c10::ScalarType type) {
  State result = original;
  for (auto& entry : result.tensors) {
    if (entry.tensor.is_floating_point()) entry.tensor = entry.tensor.to(at::kCPU, type).detach();
  }
  return result;
}

double written_bytes(const Outputs& outputs) {
  double bytes = 0.0;
  for (const auto& output : outputs) bytes += static_cast<double>(output.nbytes());
  return bytes;
}

double least_bytes(const Facts& facts, const State& prepared, const Outputs& outputs) {
  double bytes = written_bytes(outputs);
  for (std::size_t i = 0; i < prepared.tensors.size(); ++i) {
    const auto& tensor = prepared.tensors[i].tensor;
    const auto partial = facts.elements_read.find(i);
    const double elements =
        partial == facts.elements_read.end() ? static_cast<double>(tensor.numel()) : partial->second;
    bytes += elements * static_cast<double>(tensor.element_size());
  }
  return bytes;
}

}  // namespace ampgate::cases
