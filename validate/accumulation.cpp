#include "validate/accumulation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scatter_add.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "precision/formats.h"
#include "validate/call_tensors.h"
#include "validate/fp64_call.h"
#include "validate/roundings.h"

namespace ampgate::validate {
namespace {

constexpr double kMeasured = 0.42;
constexpr double kUnitRoundoff = 0x1p-24;

enum class Form {
  kWeighted,      // op(a, b, bias...), reduced over b's trailing dimensions
  kProduct,       // op(a, b), reduced over a's last dimension
  kAddedProduct,  // op(c, a, b, beta, alpha)
  kReduction,     // the terms are one operand, the first
  kScatteredSum,  // op(self, dim, index, source, ...)
  kAttention,
};

constexpr std::array<std::pair<std::string_view, Form>, 17> kForms{{
    {"aten::linear", Form::kWeighted},
    {"aten::conv1d", Form::kWeighted},
    {"aten::conv2d", Form::kWeighted},
    {"aten::conv3d", Form::kWeighted},
    {"aten::matmul", Form::kProduct},
    {"aten::mm", Form::kProduct},
    {"aten::bmm", Form::kProduct},
    {"aten::addmm", Form::kAddedProduct},
    {"aten::baddbmm", Form::kAddedProduct},
    {"aten::sum", Form::kReduction},
    {"aten::mean", Form::kReduction},
    {"aten::cumsum", Form::kReduction},
    {"aten::index_add", Form::kScatteredSum},
    {"aten::index_add_", Form::kScatteredSum},
    {"aten::scatter_add", Form::kScatteredSum},
    {"aten::scatter_add_", Form::kScatteredSum},
    {"aten::scaled_dot_product_attention", Form::kAttention},
}};

std::optional<Form> form_of(std::string_view name) {
  const auto* const found =
      std::find_if(kForms.begin(), kForms.end(), [&](const auto& entry) { return entry.first == name; });
  return found == kForms.end() ? std::nullopt : std::optional(found->second);
}

// The bias of linear belongs to the last dimension, that of a convolution to the one before the spatial ones.
at::Tensor along_channels(const at::Tensor& bias, const c10::OperatorHandle& op, const at::Tensor& result) {
  if (op.schema().name() == "aten::linear") return bias;
  std::vector<std::int64_t> sizes{bias.numel()};
  sizes.resize(static_cast<std::size_t>(result.dim()) - 1, 1);
  return bias.view(sizes);
}

at::Tensor deviation(const at::Tensor& y, const at::Tensor& q, double k) {
  const at::Tensor y2 = y.square();
  const at::Tensor t2 = y2 * (k / 3.0) + (q * k - y2).clamp_min(0.0) / 6.0 + q;
  return t2.sqrt() * (kMeasured * kUnitRoundoff);
}

// op(a, b) or op(a, b, bias, ...): the sum of squares comes from the operator itself.
at::Tensor of_product(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                      const at::Tensor& result, bool weighted) {
  torch::jit::Stack squared = arguments;
  const at::Tensor a = arguments[0].toTensor();
  const at::Tensor b = arguments[1].toTensor();
  squared[0] = a.square();
  squared[1] = b.square();
  at::Tensor y = result;
  if (weighted) {  // the bias is added to the finished sum: no product, no part of the partial sums
    if (arguments[2].isTensor() && arguments[2].toTensor().defined())
      y = result - along_channels(arguments[2].toTensor(), op, result);
    squared[2] = c10::IValue();
  }
  op.callBoxed(squared);
  const double k = static_cast<double>(weighted ? b.numel() / b.size(0) : a.size(-1));
  return deviation(y, squared.back().toTensor(), k);
}

// beta c + alpha a b.
at::Tensor of_added_product(const torch::jit::Stack& arguments, const at::Tensor& result) {
  const at::Tensor a = arguments[1].toTensor() * arguments[4].toScalar();
  const at::Tensor b = arguments[2].toTensor();
  const at::Tensor y = result - arguments[0].toTensor() * arguments[3].toScalar();
  return deviation(y, at::matmul(a.square(), b.square()), static_cast<double>(a.size(-1)));
}

std::optional<at::Tensor> of_attention(const torch::jit::Stack& arguments, const at::Tensor& result,
                                       c10::ScalarType type) {
  const at::Tensor value = arguments[2].toTensor();
  // Fewer value heads than query heads: left out.
  if (value.dim() != result.dim() || value.size(-3) != result.size(-3)) return {};
  const at::Tensor p = attention_by_definition(arguments).second;
  const at::Tensor q = at::matmul(p.square(), value.square());
  const double unit = precision::format_of(type).unit_roundoff();
  const at::Tensor sums = deviation(result, q, static_cast<double>(value.size(-2)));
  return (sums.square() + q * (kMeasured * unit * kMeasured * unit)).sqrt();
}

// 0.42 u T of sums whose terms come from one operand: the operator itself says how many there are and what
// their squares add up to.
at::Tensor of_terms(const at::Tensor& y, const at::Tensor& count, const at::Tensor& squares, double unit) {
  const at::Tensor y2 = y.square();
  const at::Tensor t2 = count * y2 / 3.0 + (squares * count - y2).clamp_min(0.0) / 6.0;
  return t2.sqrt() * (kMeasured * unit);
}

// sum, mean, cumsum, in FP32.
at::Tensor of_reduction(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                        const at::Tensor& result) {
  const at::Tensor x = arguments[0].toTensor();
  const auto on = [&](const at::Tensor& other) {
    torch::jit::Stack stack = arguments;
    stack[0] = other;
    op.callBoxed(stack);
    return stack.back().toTensor();
  };
  if (op.schema().name() != "aten::mean")
    return of_terms(result, on(at::ones_like(x)), on(x.square()), kUnitRoundoff);
  const double count =
      static_cast<double>(x.numel()) / static_cast<double>(std::max<std::int64_t>(1, result.numel()));
  return of_terms(result * count, at::full_like(result, count), on(x.square()) * count, kUnitRoundoff) /
         count;
}

// Adds slices of `source` to places of `self`, in the type of `self`.
std::optional<at::Tensor> of_scattered_sum(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                                           const at::Tensor& result, c10::ScalarType type) {
  const std::string& name = op.schema().name();
  const at::Tensor index = arguments[2].toTensor();
  const at::Tensor source = arguments[3].toTensor();
  const std::int64_t dim = arguments[1].toInt();
  const bool by_slice = name.starts_with("aten::index_add");
  const auto on = [&](const at::Tensor& other) {
    const at::Tensor zeros = at::zeros_like(result);
    return by_slice ? at::index_add(zeros, dim, index, other) : at::scatter_add(zeros, dim, index, other);
  };
  const at::Tensor count = on(at::ones_like(source)) + 1.0;
  return of_terms(result, count, on(source.square()), precision::format_of(type).unit_roundoff());
}

// What is multiplied and added up inside does not show: how its inputs' roundings move the result stands in
// its place.
at::Tensor of_unknown(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                      const at::Tensor& result, std::size_t number) {
  constexpr int kDraws = 4;
  const double spread = std::sqrt(3.0) * kUnitRoundoff;  // uniform with a standard deviation of u32
  const at::NoGradGuard no_grad;
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  at::Tensor squares = at::zeros_like(result);
  std::int64_t read = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    torch::jit::Stack moved = arguments;
    for (auto& argument : moved) {
      if (!argument.isTensor() || !argument.toTensor().defined()) continue;
      const at::Tensor tensor = argument.toTensor().detach();
      if (!tensor.is_floating_point()) continue;
      if (draw == 0) read += tensor.numel();
      argument = tensor * at::empty_like(tensor).uniform_(1.0 - spread, 1.0 + spread, generator);
    }
    op.callBoxed(moved);
    squares.add_((moved[number].toTensor() - result.detach()).square_());
  }
  squares.div_(kDraws);
  const double k = static_cast<double>(read) / static_cast<double>(std::max<std::int64_t>(1, result.numel()));
  const at::Tensor rounded = result.detach() * kUnitRoundoff;
  return rounded.square_().mul_(k / 3.0).add_(squares, k / 6.0 + 1.0).sqrt_().mul_(kMeasured);
}

// Of LibTorch's others whatever takes far more elements than it gives: distances, gradients of a reduction.
bool adds_up_unseen(const c10::OperatorHandle& op, const torch::jit::Stack& arguments,
                    const at::Tensor& result) {
  constexpr std::int64_t kFewTerms = 4;
  if (is_known_as_a_whole(op)) return false;
  const auto& declared = op.schema().arguments();
  std::int64_t read = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_written(declared[i])) return false;
    if (is_floating(arguments[i])) read += arguments[i].toTensor().numel();
  }
  return read > kFewTerms * result.numel();
}

}  // namespace

bool adds_up(const c10::OperatorHandle& op) { return form_of(op.schema().name()).has_value(); }

std::optional<at::Tensor> accumulation_deviation(const c10::OperatorHandle& op,
                                                 const torch::jit::Stack& arguments, const at::Tensor& result,
                                                 std::size_t number, c10::ScalarType type) {
  const std::string& name = op.schema().name();
  if (!is_libtorchs(op)) return of_unknown(op, arguments, result, number);
  const auto form = form_of(name);
  if (!form) {
    if (!adds_up_unseen(op, arguments, result)) return {};
    return of_unknown(op, arguments, result, number);
  }
  switch (*form) {
    case Form::kWeighted:
    case Form::kProduct:
      return of_product(op, arguments, result, *form == Form::kWeighted);
    case Form::kAddedProduct:
      return of_added_product(arguments, result);
    case Form::kReduction:
      return of_reduction(op, arguments, result);
    case Form::kScatteredSum:
      return of_scattered_sum(op, arguments, result, type);
    case Form::kAttention:
      return of_attention(arguments, result, type);
  }
  return {};
}

}  // namespace ampgate::validate
