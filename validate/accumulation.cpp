#include "validate/accumulation.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace ampgate::validate {
namespace {

constexpr double kMeasured = 0.42;
constexpr double kUnitRoundoff = 0x1p-24;

// Operators of the form op(a, b, bias...) with the reduction over b's trailing dimensions: linear and
// convolutions.
constexpr std::array<std::string_view, 4> kWeighted{"aten::linear", "aten::conv1d", "aten::conv2d",
                                                    "aten::conv3d"};
// Operators of the form op(a, b) with the reduction over a's last dimension.
constexpr std::array<std::string_view, 3> kProducts{"aten::matmul", "aten::mm", "aten::bmm"};

bool contains(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The bias of linear belongs to the last dimension, that of a convolution to the one before the spatial ones.
at::Tensor along_channels(const at::Tensor& bias, const c10::OperatorHandle& op, const at::Tensor& result) {
  if (op.schema().name() == "aten::linear") return bias;
  std::vector<std::int64_t> sizes{bias.numel()};
  sizes.resize(static_cast<std::size_t>(result.dim()) - 1, 1);
  return bias.view(sizes);
}

}  // namespace

std::optional<at::Tensor> accumulation_deviation(const c10::OperatorHandle& op,
                                                 const torch::jit::Stack& arguments,
                                                 const at::Tensor& result) {
  const bool weighted = contains(kWeighted, op.schema().name());
  if (!weighted && !contains(kProducts, op.schema().name())) return {};
  torch::jit::Stack squared = arguments;
  const at::Tensor a = arguments[0].toTensor();
  const at::Tensor b = arguments[1].toTensor();
  squared[0] = a.square();
  squared[1] = b.square();
  at::Tensor y = result;
  if (weighted) {  // the bias is added to the finished sum: no product, no part of the partial sums
    if (arguments[2].isTensor()) y = result - along_channels(arguments[2].toTensor(), op, result);
    squared[2] = c10::IValue();
  }
  op.callBoxed(squared);
  const at::Tensor q = squared.back().toTensor();
  const double k = static_cast<double>(weighted ? b.numel() / b.size(0) : a.size(-1));
  const at::Tensor y2 = y.square();
  const at::Tensor t2 = y2 * (k / 3.0) + (q * k - y2).clamp_min(0.0) / 6.0 + q;
  return t2.sqrt() * (kMeasured * kUnitRoundoff);
}

}  // namespace ampgate::validate
