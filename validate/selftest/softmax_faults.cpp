// Faults of softmax, log_softmax and attention.
#include <ATen/ATen.h>

#include <cmath>

#include "validate/selftest/faults.h"
#include "validate/selftest/results.h"

namespace ampgate::validate::selftest {
namespace {

constexpr std::size_t kQuery = 0, kKey = 1, kValue = 2;

at::Tensor wrong_dimension(Call& call) {
  const auto dim = call.find("dim");
  if (!dim || call.arguments()[0].toTensor().dim() < 2) return {};
  Arguments changed = call.arguments();
  const std::int64_t dimensions = changed[0].toTensor().dim();
  const auto other = [&](std::int64_t right) {
    return right == 0 || right == -dimensions ? dimensions - 1 : std::int64_t{0};
  };
  if (changed[*dim].isInt()) {
    changed[*dim] = other(changed[*dim].toInt());
  } else if (changed[*dim].isIntList() && changed[*dim].toIntList().size() == 1) {
    changed[*dim] = std::vector<std::int64_t>{other(changed[*dim].toIntVector()[0])};
  } else {
    return {};
  }
  return call.with(changed);
}

at::Tensor no_max_subtraction(Call& call) {
  const Arguments seen = call.seen();
  at::Tensor x = seen[0].toTensor().to(at::kFloat);
  if (call.name() == "scaled_dot_product_attention") {
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(x.size(-1))));
    const at::Tensor key = seen[kKey].toTensor().to(at::kFloat);
    const at::Tensor weights = (at::matmul(x, key.transpose(-1, -2)) * scale).exp();
    const at::Tensor value = seen[kValue].toTensor().to(at::kFloat);
    return at::matmul(weights / weights.sum(-1, true), value).to(call.type());
  }
  const std::int64_t dim = seen[*call.find("dim")].toInt();
  const at::Tensor sum = x.exp().sum(dim, true);
  return (call.name() == "softmax" ? x.exp() / sum : x - sum.log()).to(call.type());
}

at::Tensor sum_16_bit(Call& call) {
  const Arguments seen = call.seen();
  const std::int64_t dim = seen[*call.find("dim")].toInt();
  const at::Tensor x = seen[0].toTensor();
  const at::Tensor shifted = x - x.amax(dim, true);
  const at::Tensor terms = shifted.exp();
  const auto type = call.type() == at::kFloat ? at::kBFloat16 : call.type();
  at::Tensor sum = at::zeros_like(terms.narrow(dim, 0, 1));
  for (std::int64_t i = 0; i < terms.size(dim); ++i) {
    sum =
        precision::round_tensor((sum + terms.narrow(dim, i, 1)).cpu(), type).to(sum.device()).to(at::kDouble);
  }
  const at::Tensor result = call.name() == "softmax" ? terms / sum : shifted - sum.log();
  return precision::round_tensor(result.cpu(), call.type()).to(call.right().device());
}

at::Tensor attention_scale(Call& call) {
  const auto scale = call.find("scale");
  if (!scale) return {};
  const auto width = static_cast<double>(call.arguments()[kQuery].toTensor().size(-1));
  return call.exact([&](Arguments& changed) { changed[*scale] = 1.0 / width; });
}

at::Tensor attention_causal(Call& call) {
  const auto causal = call.find("is_causal"), mask = call.find("attn_mask");
  if (!causal || !mask || call.arguments()[*causal].toBool() || !call.arguments()[*mask].isNone()) return {};
  return call.exact([&](Arguments& changed) { changed[*causal] = true; });
}

at::Tensor attention_key_dropped(Call& call) {
  const auto mask = call.find("attn_mask");
  if (!mask || !call.arguments()[*mask].isNone()) return {};
  const at::Tensor query = call.arguments()[kQuery].toTensor();
  const std::int64_t keys = call.arguments()[kKey].toTensor().size(-2);
  at::Tensor kept = at::ones({query.size(-2), keys}, query.options().dtype(at::kBool));
  kept.select(1, keys - 1).fill_(false);
  return call.exact([&](Arguments& changed) { changed[*mask] = kept; });
}

at::Tensor attention_keys_shifted(Call& call) {
  return call.exact([](Arguments& changed) { changed[kKey] = at::roll(changed[kKey].toTensor(), 1, -2); });
}

}  // namespace

void add_softmax_faults(Faults& faults) {
  faults["wrong-dimension"] = {wrong_dimension};
  faults["no-max-subtraction"] = {no_max_subtraction};
  faults["softmax-sum-16-bit"] = {sum_16_bit};
  faults["attention-scale"] = {attention_scale};
  faults["attention-causal"] = {attention_causal};
  faults["attention-key-dropped"] = {attention_key_dropped};
  faults["attention-keys-shifted"] = {attention_keys_shifted};
}

}  // namespace ampgate::validate::selftest
