#include <ATen/ops/convolution.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <utility>

#include "backends/settings.h"
#include "validate/fingerprint/probe.h"
#include "validate/fingerprint/products.h"
#include "validate/fingerprint/values.h"

namespace ampgate::validate::fingerprint {
namespace {

using c10::kBFloat16;
using c10::kFloat;
using c10::kHalf;
using c10::ScalarType;

constexpr double kLarge = 0x1p10;  // squared: 2^20

std::string name_of(ScalarType type) { return type == kHalf ? "fp16" : type == kBFloat16 ? "bf16" : "fp32"; }

// A sum of few products, in all layouts and these sizes.
Probe sum(const std::string& name, const std::string& asks, ScalarType type, const std::vector<Term>& terms,
          const std::vector<Size>& sizes, const Meanings& meanings) {
  return {name, asks, {type}, [=](c10::Device device) {
            const Outcomes outcomes = products(device, type, terms, sizes);
            return Finding{outcomes.raw, in_words(meanings, outcomes.seen)};
          }};
}

// Which of `from`..`to` survive: the terms are made of each, and the result is the small one or not.
Finding surviving(c10::Device device, ScalarType type, int from, int to, const std::string& what,
                  const std::function<std::vector<Term>(int)>& terms, const std::vector<Size>& sizes) {
  results::Json raw = results::Json::array();
  std::vector<int> everywhere;
  std::vector<int> somewhere;
  for (int j = from; j <= to; ++j) {
    const Outcomes outcomes = products(device, type, terms(j), sizes);
    int kept = 0;
    int all = 0;
    for (const auto& [value, count] : outcomes.seen) {
      all += count;
      kept += value == "0" || value == "-0" ? 0 : count;
    }
    raw.push_back(outcomes.raw);
    if (kept > 0) (kept == all ? everywhere : somewhere).push_back(j);
  }
  std::string words = what + in_ranges(everywhere);
  if (!somewhere.empty()) words += "; in some layouts and sizes " + in_ranges(somewhere);
  return {std::move(raw), std::move(words)};
}

Probe accumulator(ScalarType type) {
  return sum("accumulator-" + name_of(type), "bits below 2^20 that are kept beside it: 2^20 + 3/32 - 2^20",
             type, {{0, kLarge, kLarge}, {1, 0.09375, 1}, {2, -kLarge, kLarge}}, sizes_for(16),
             {{"0", "the small term is lost: 23 bits cut off, or a 16-bit accumulator"},
              {"0.0625", "24 bits, cut off"},
              {"0.09375", "25 bits or more, or other terms first"},
              {"0.125", "FP32, rounded to nearest"}});
}

Probe accumulator_bits(ScalarType type) {
  return {"accumulator-bits-" + name_of(type),
          "the j for which 2^20 + 2^(20-j) - 2^20 is not 0",
          {type},
          [type](c10::Device device) {
            const auto terms = [](int j) -> std::vector<Term> {
              return {{0, kLarge, kLarge}, {1, std::ldexp(1.0, 20 - j), 1}, {2, -kLarge, kLarge}};
            };
            return surviving(device, type, 20, 28, "kept for j = ", terms, sizes_for(16));
          }};
}

Probe block(ScalarType type) {
  return {"block-" + name_of(type),
          "the places j along K whose 2^-10 outlives 2^20 at 0 and -2^20 at 1",
          {type},
          [type](c10::Device device) {
            const auto terms = [](int j) -> std::vector<Term> {
              return {{0, kLarge, kLarge}, {1, -kLarge, kLarge}, {j, 0x1p-10, 1}};
            };
            return surviving(device, type, 2, 31, "2^-10 is kept at places ", terms,
                             {{1, 1, 32}, {16, 16, 32}, {64, 64, 64}});
          }};
}

Probe write_back(ScalarType type) {
  return sum("write-back-" + name_of(type), "2^20 + 1/8 + 1/16 at 0 to 2, -2^20 at 16", type,
             {{0, kLarge, kLarge}, {1, 0.125, 1}, {2, 0.0625, 1}, {16, -kLarge, kLarge}}, sizes_for(32),
             {{"0", "both small terms are lost"},
              {"0.125", "partial sums are cut off, or 1/16 is lost beside 2^20"},
              {"0.1875", "more than 24 bits, or other terms first"},
              {"0.25", "partial sums are rounded to nearest"}});
}

Probe round_down(ScalarType type) {
  return sum("round-down-" + name_of(type), "-2^-10 at 0, 2^20 at 16, -2^20 at 32", type,
             {{0, -0x1p-10, 1}, {16, kLarge, kLarge}, {32, -kLarge, kLarge}}, sizes_for(48),
             {{"0", "rounded to nearest, or toward zero"},
              {"-0", "rounded to nearest, or toward zero"},
              {"-0.0625", "rounded down"},
              {"-0.125", "rounded down"},
              {"-0.0009765625", "the large terms meet before the small one"}});
}

Probe one_product(const std::string& name, const std::string& asks, ScalarType type, double a, double b,
                  const Meanings& meanings) {
  return sum(name, asks, type, {{0, a, b}}, sizes_for(1), meanings);
}

// Its gradient is the product of 2^-24 with 2^10 again: some units take another way there.
Probe subnormal_gradient() {
  return {
      "subnormal-gradient-fp16", "backward of a product: FP16 2^-24 x 2^10", {kHalf}, [](c10::Device device) {
        const c10::AutoGradMode gradients(true);
        const auto options = at::TensorOptions(device).dtype(kHalf);
        at::Tensor a = at::full({16, 16}, 1.0, options).requires_grad_(true);
        at::Tensor gradient = at::full({16, 16}, 0.0, options);
        gradient.select(1, 0).fill_(0x1p-24);
        // The gradient of `a` is that of the product times `column` transposed: one term is not zero.
        at::Tensor column = at::full({16, 16}, 0.0, options);
        column.select(1, 0).fill_(1024.0);
        at::mm(a, column).backward(gradient);
        const std::string value = texts(a.grad()).front();
        const Meanings meanings{{"6.1035156e-05", "kept"}, {"0", "flushed to zero"}};
        return Finding{value, meaning(meanings, value)};
      }};
}

// A long sum whose partial sums overflow, or are rounded, where they are held in 16 bit.
Probe long_sum(const std::string& name, const std::string& asks, ScalarType type, double first, int count,
               const std::vector<std::pair<int, double>>& rest, const Meanings& meanings) {
  std::vector<Term> terms;
  for (int i = 0; i < count; ++i) terms.push_back({i, 1, first});
  for (const auto& [times, value] : rest) {
    for (int i = 0; i < times; ++i) terms.push_back({static_cast<std::int64_t>(terms.size()), 1, value});
  }
  const auto depth = static_cast<std::int64_t>(terms.size());
  return sum(name, asks, type, terms, {{1, 1, depth}, {1, 16, depth}, {16, 16, depth}, {64, 64, depth}},
             meanings);
}

const Meanings kTf32{{"1.0007324", "FP32"}, {"1", "TF32, cut off"}, {"1.0009766", "TF32, rounded"}};
constexpr double kBetween = 1 + 0x1p-11 + 0x1p-12;

Probe fp32_product(const std::string& name, bool tf32) {
  Probe probe =
      one_product(name, "FP32 (1 + 2^-11 + 2^-12) x 1, a product of matrices", kFloat, kBetween, 1, kTf32);
  probe.run = [tf32, product = std::move(probe.run)](c10::Device device) {
    const backends::NumericsScope numerics(!tf32, tf32);
    return product(device);
  };
  return probe;
}

Probe fp32_convolution(const std::string& name, bool tf32) {
  return {name, "FP32 (1 + 2^-11 + 2^-12) x 1, a convolution", {kFloat}, [=](c10::Device device) {
            const backends::NumericsScope numerics(!tf32, tf32);
            const auto options = at::TensorOptions(device).dtype(kFloat);
            at::Tensor image = at::full({2, 8, 16, 16}, 0.0, options);
            image.select(1, 0).fill_(kBetween);
            at::Tensor weight = at::full({8, 8, 1, 1}, 0.0, options);
            weight.select(1, 0).fill_(1.0);
            const std::string value =
                texts(at::convolution(image, weight, {}, {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1)).front();
            return Finding{value, meaning(kTf32, value)};
          }};
}

}  // namespace

std::vector<Probe> product_probes() {
  std::vector<Probe> probes;
  for (const ScalarType type : {kHalf, kBFloat16, kFloat}) {
    probes.push_back(accumulator(type));
    probes.push_back(accumulator_bits(type));
    probes.push_back(block(type));
    probes.push_back(write_back(type));
    probes.push_back(round_down(type));
  }
  probes.push_back(one_product("subnormal-fp16", "FP16 2^-24 x 2^10", kHalf, 0x1p-24, 0x1p10,
                               {{"6.1035156e-05", "kept"}, {"0", "flushed to zero"}}));
  probes.push_back(subnormal_gradient());
  probes.push_back(one_product("subnormal-result-bf16", "BF16 2^-100 x 2^-30", kBFloat16, 0x1p-100, 0x1p-30,
                               {{"7.34684e-40", "kept"}, {"0", "flushed to zero"}}));
  probes.push_back(one_product("subnormal-operand-bf16", "BF16 2^-130 x 2^10", kBFloat16, 0x1p-130, 0x1p10,
                               {{"7.523164e-37", "kept"}, {"0", "flushed to zero"}}));
  probes.push_back(one_product("operand-bits-fp16", "FP16 (1 + 2^-10) x 1", kHalf, 1 + 0x1p-10, 1,
                               {{"1.0009766", "FP16"}, {"1", "the product goes through BF16"}}));
  probes.push_back(sum("wide-exponent-bf16", "BF16 2^127 x 2 - 2^127 x 2 + 1", kBFloat16,
                       {{0, 0x1p127, 2}, {1, -0x1p127, 2}, {2, 1, 1}}, sizes_for(16),
                       {{"0", "the accumulator holds 2^128, and 1 is lost beside it"},
                        {"1", "the accumulator holds 2^128, and so does 1"},
                        {"nan", "the accumulator overflows at 2^128"},
                        {"inf", "the accumulator overflows at 2^128"},
                        {"-inf", "the accumulator overflows at 2^128"}}));
  probes.push_back(long_sum("partial-sums-fp16", "FP16: 4096 times 32, 4095 times -32, -31", kHalf, 32, 4096,
                            {{4095, -32.0}, {1, -31.0}},
                            {{"1", "wider than FP16"}, {"inf", "FP16"}, {"nan", "FP16"}}));
  probes.push_back(long_sum("partial-sums-bf16", "BF16: 8191 times 1, 2, 8192 times -1", kBFloat16, 1, 8191,
                            {{1, 2.0}, {8192, -1.0}},
                            {{"1", "wider than BF16"}, {"0", "rounded to BF16 in between"}}));
  probes.push_back(fp32_product("product-fp32", false));
  probes.push_back(fp32_convolution("convolution-fp32", false));
  probes.push_back(fp32_product("product-tf32", true));
  probes.push_back(fp32_convolution("convolution-tf32", true));
  return probes;
}

}  // namespace ampgate::validate::fingerprint
