#include <ATen/ops/addcmul.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/fmax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <limits>

#include "validate/fingerprint/probe.h"
#include "validate/fingerprint/values.h"

namespace ampgate::validate::fingerprint {
namespace {

using c10::kFloat;
using results::Json;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

at::Tensor tensor(const std::vector<float>& values, c10::Device device) {
  return at::tensor(values, at::TensorOptions().dtype(kFloat)).to(device);
}

Finding fused(c10::Device device) {
  const auto options = at::TensorOptions(device).dtype(kFloat);
  const at::Tensor a = at::full({67}, 1 + 0x1p-12, options);
  const at::Tensor c = at::full({67}, -(1 + 0x1p-11), options);
  const auto all = texts(at::addcmul(c, a, a));
  std::map<std::string, int> seen;
  for (const auto& value : all) ++seen[value];
  Json raw = Json::array();
  for (const auto& [value, count] : seen) raw.push_back(value);
  const bool both = seen.size() > 1;  // vectors and what is left over behind them
  return {std::move(raw), both ? "fused for some elements, rounded in between for others, by their place"
                               : meaning({{"5.9604645e-08", "fused"}, {"0", "rounded in between"}}, all[0])};
}

// What comes out, by what goes in; long enough for vectors.
Finding table(const std::vector<std::pair<std::string, at::Tensor>>& entries) {
  Json raw = Json::object();
  std::string words;
  for (const auto& [name, result] : entries) {
    std::string values;
    for (const auto& value : texts(result)) values += (values.empty() ? "" : " ") + value;
    raw[name] = values;
    words += (words.empty() ? "" : "; ") + name + ": " + values;
  }
  return {std::move(raw), std::move(words)};
}

Finding maxima(c10::Device device) {
  const at::Tensor nan_first = tensor({kNan, 1}, device), nan_last = tensor({1, kNan}, device);
  const at::Tensor plus = tensor({0.0F, -0.0F}, device), minus = tensor({-0.0F, 0.0F}, device);
  return table({{"maximum(nan, 1), (1, nan)", at::maximum(nan_first, nan_last)},
                {"fmax(nan, 1), (1, nan)", at::fmax(nan_first, nan_last)},
                {"amax [nan, 1]", at::amax(nan_first)},
                {"amax [1, nan]", at::amax(nan_last)},
                {"relu(nan), relu(-0)", at::relu(tensor({kNan, -0.0F}, device))},
                {"maximum(0, -0), (-0, 0)", at::maximum(plus, minus)}});
}

Finding normalised(c10::Device device) {
  return table({{"softmax [-inf, -inf]", at::softmax(tensor({-kInf, -kInf}, device), 0)},
                {"softmax [inf, 0]", at::softmax(tensor({kInf, 0}, device), 0)},
                {"logsumexp [-inf, -inf]", at::logsumexp(tensor({-kInf, -kInf}, device), 0)}});
}

}  // namespace

std::vector<Probe> function_probes() {
  return {
      {"addcmul-fp32", "-(1 + 2^-11) + (1 + 2^-12)^2: is the product rounded before it is added?", {kFloat}, fused},
      {"maxima-fp32", "what becomes of NaN and of signed zeros", {kFloat}, maxima},
      {"infinities-fp32", "softmax and logsumexp of infinities", {kFloat}, normalised},
  };
}

}  // namespace ampgate::validate::fingerprint
