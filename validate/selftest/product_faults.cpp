// Faults of products and sums: operands, order and type of the addition, geometry of convolutions.
#include <ATen/ATen.h>

#include <map>
#include <utility>

#include "validate/selftest/faults.h"
#include "validate/selftest/results.h"

namespace ampgate::validate::selftest {
namespace {

using Places = std::vector<std::pair<std::size_t, std::int64_t>>;  // argument, dimension

// Along which dimensions of which arguments an operator multiplies and adds up; empty for the others. Sums
// over several dimensions are left out.
Places reduced(const Call& call) {
  static const std::map<std::string, Places> kProducts{
      {"matmul", {{0, -1}, {1, -2}}},        {"mm", {{0, -1}, {1, -2}}},    {"bmm", {{0, -1}, {1, -2}}},
      {"linear", {{0, -1}, {1, -1}}},        {"addmm", {{1, -1}, {2, -2}}}, {"conv2d", {{0, 1}, {1, 1}}},
      {"conv_transpose2d", {{0, 1}, {1, 0}}}};
  const auto found = kProducts.find(call.name());
  if (found != kProducts.end()) return found->second;
  const auto dim = call.find("dim");
  if (!dim) return {};
  const c10::IValue& value = call.arguments()[*dim];
  if (value.isInt()) return {{0, value.toInt()}};
  if (value.isIntList() && value.toIntList().size() == 1) return {{0, value.toIntList()[0]}};
  return {};
}

std::int64_t length(const Call& call, const Places& places) {
  const auto& [argument, dim] = places.front();
  return call.arguments()[argument].toTensor().size(dim);
}

void drop_bias(const Call& call, Arguments& arguments) {
  if (const auto bias = call.find("bias")) arguments[*bias] = c10::IValue();
  if (call.name() == "addmm") arguments[0] = at::zeros_like(arguments[0].toTensor());
}

// The terms [start, start + count) of every sum, in FP64; the bias belongs to the first ones.
at::Tensor part(const Call& call, const Places& places, Arguments seen, std::int64_t start,
                std::int64_t count) {
  const auto total = static_cast<double>(seen[places[0].first].toTensor().size(places[0].second));
  for (const auto& [argument, dim] : places)
    seen[argument] = seen[argument].toTensor().narrow(dim, start, count);
  if (start > 0) drop_bias(call, seen);
  const at::Tensor terms = call.in_fp64(seen);
  return call.name() == "mean" ? terms * (static_cast<double>(count) / total) : terms;
}

at::Tensor rounded(const at::Tensor& fp64, c10::ScalarType type) {
  return precision::round_tensor(fp64.cpu(), type).to(fp64.device());
}

c10::ScalarType narrow_type(Call& call) { return call.type() == at::kFloat ? at::kBFloat16 : call.type(); }

at::Tensor split_k(Call& call) {
  const Places places = reduced(call);
  if (places.empty() || length(call, places) < 2) return {};
  const std::int64_t total = length(call, places);
  const std::int64_t step = (total + 3) / 4;
  const Arguments seen = call.seen();
  at::Tensor sum;
  for (std::int64_t start = 0; start < total; start += step) {
    const at::Tensor partial = part(call, places, seen, start, std::min(step, total - start));
    const at::Tensor stored = rounded(partial, narrow_type(call)).to(at::kDouble);
    sum = sum.defined() ? sum + stored : stored;
  }
  return rounded(sum, call.type());
}

// The running sum is rounded to `type` after every term. A mean is divided at the end.
Kernel accumulation(c10::ScalarType type) {
  return [type](Call& call) -> at::Tensor {
    const Places places = reduced(call);
    if (places.empty() || length(call, places) < 2) return {};
    const std::int64_t total = length(call, places);
    const double terms = call.name() == "mean" ? static_cast<double>(total) : 1.0;
    const Arguments seen = call.seen();
    std::vector<at::Tensor> sums;
    for (std::int64_t k = 0; k < total; ++k) {
      const at::Tensor term = part(call, places, seen, k, 1) * terms;
      sums.push_back(rounded(sums.empty() ? term : sums.back().to(at::kDouble) + term, type).to(at::kDouble));
    }
    if (call.name() == "cumsum") return rounded(at::cat(sums, places[0].second), call.type());
    return rounded(sums.back() / terms, call.type());
  };
}

// The last eighth of the terms: of the first operand, what they are multiplied by.
at::Tensor last_block(Call& call, double factor) {
  const Places places = reduced(call);
  if (places.empty() || length(call, places) < 2) return {};
  const auto [argument, dim] = places.front();
  const std::int64_t total = length(call, places), block = std::max<std::int64_t>(1, total / 8);
  Arguments changed = call.arguments();
  at::Tensor operand = copy_of(changed[argument].toTensor());
  at::Tensor tail = operand.narrow(dim, total - block, block);
  const bool exponents = call.name() == "softmax" || call.name() == "log_softmax";
  exponents ? tail.fill_(-std::numeric_limits<double>::infinity()) : tail.mul_(factor);
  changed[argument] = operand;
  return call.with(changed);
}

// FP32 rounded to the eleven significant bits of TF32.
at::Tensor to_tf32(const at::Tensor& fp32) {
  const at::Tensor bits = copy_of(fp32).view(at::kInt);
  const at::Tensor half = bits.bitwise_right_shift(13).bitwise_and(1) + 0xFFF;
  const at::Tensor cut = (bits + half).bitwise_and(~0x1FFF).view(at::kFloat);
  return at::where(fp32.isfinite(), cut, fp32);
}

at::Tensor tf32_operands(Call& call) {
  if (call.type() != at::kFloat) return {};
  Arguments changed = call.arguments();
  for (const std::size_t i : call.floating()) changed[i] = to_tf32(changed[i].toTensor().to(at::kFloat));
  return call.with(changed);
}

at::Tensor cast_truncated(Call& call) {
  if (call.type() == at::kFloat) return {};
  Arguments changed = call.arguments();
  bool any = false;
  for (const std::size_t i : call.floating()) {
    const at::Tensor operand = changed[i].toTensor();
    if (operand.scalar_type() != at::kFloat) continue;
    changed[i] = truncated_to(operand.to(at::kDouble), call.type());
    any = true;
  }
  return any ? call.with(changed) : at::Tensor();
}

at::Tensor transposed_weight(Call& call) {
  const Places places = reduced(call);
  if (places.size() < 2) return {};
  Arguments changed = call.arguments();
  const at::Tensor weight = changed[places[1].first].toTensor();
  if (weight.dim() < 2 || weight.size(-1) * weight.size(-2) == 1) return {};
  changed[places[1].first] = weight.transpose(-1, -2).contiguous().view(weight.sizes());
  return call.with(changed);
}

at::Tensor bias_ignored(Call& call) {
  const auto bias = call.find("bias");
  if (bias && call.arguments()[*bias].isNone()) return {};
  Arguments changed = call.arguments();
  drop_bias(call, changed);
  return call.with(changed);
}

struct Geometry {
  std::size_t stride, padding, dilation;
};

// Arguments of a convolution whose geometry is given by numbers.
std::optional<Geometry> geometry(const Call& call) {
  const auto stride = call.find("stride"), padding = call.find("padding"), dilation = call.find("dilation");
  if (!stride || !padding || !dilation || !call.arguments()[*padding].isIntList()) return {};
  return Geometry{*stride, *padding, *dilation};
}

std::vector<std::int64_t> pair_of(const c10::IValue& value, std::int64_t factor = 1) {
  auto numbers = value.toIntVector();
  if (numbers.size() == 1) numbers.push_back(numbers[0]);
  for (auto& number : numbers) number *= factor;
  return numbers;
}

at::Tensor wrong_padding(Call& call) {
  const auto at = geometry(call);
  if (!at) return {};
  Arguments changed = call.arguments();
  const auto padding = pair_of(changed[at->padding]);
  if (padding[0] == 0 && padding[1] == 0) return {};
  const std::vector<std::int64_t> sides{padding[1], padding[1], padding[0], padding[0]};
  changed[0] = at::replication_pad2d(changed[0].toTensor(), sides);
  changed[at->padding] = std::vector<std::int64_t>{0, 0};
  return call.with(changed);
}

at::Tensor wrong_dilation(Call& call) {
  const auto at = geometry(call);
  if (!at) return {};
  Arguments changed = call.arguments();
  changed[at->padding] = pair_of(changed[at->padding], 2);
  changed[at->dilation] = pair_of(changed[at->dilation], 2);
  at::Tensor result = call.with(changed);
  return result.sizes() == call.right().sizes() ? result : at::Tensor();
}

at::Tensor wrong_stride(Call& call) {
  const auto at = geometry(call);
  if (!at) return {};
  Arguments changed = call.arguments();
  changed[at->stride] = pair_of(changed[at->stride], 2);
  at::Tensor result = call.with(changed);
  for (const std::int64_t dim : {-2, -1}) {
    result = result.repeat_interleave(2, dim).narrow(dim, 0, call.right().size(dim));
  }
  return result;
}

}  // namespace

void add_product_faults(Faults& faults) {
  faults["tf32-operands"] = {tf32_operands};
  faults["cast-truncated"] = {cast_truncated};
  faults["transposed-weight"] = {transposed_weight};
  faults["dropped-k-block"] = {[](Call& call) { return last_block(call, 0.0); }};
  faults["k-block-twice"] = {[](Call& call) { return last_block(call, 2.0); }};
  faults["split-k-16-bit"] = {split_k};
  faults["accumulation-fp16"] = {accumulation(at::kHalf)};
  faults["accumulation-bf16"] = {accumulation(at::kBFloat16)};
  faults["wrong-padding"] = {wrong_padding};
  faults["wrong-dilation"] = {wrong_dilation};
  faults["wrong-stride"] = {wrong_stride};
  faults["bias-ignored"] = {bias_ignored};
}

}  // namespace ampgate::validate::selftest
