#include <ATen/ops/cat.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scatter_add.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <cstdint>
#include <set>

#include "validate/fingerprint/probe.h"
#include "validate/fingerprint/values.h"

namespace ampgate::validate::fingerprint {
namespace {

using c10::kBFloat16;
using c10::kFloat;
using c10::kHalf;
using c10::kLong;
using c10::ScalarType;
using results::Json;

at::Tensor zero_indices(std::int64_t count, c10::Device device) {
  return at::zeros({count}, at::TensorOptions(device).dtype(kLong));
}

// 1 and 4096 times 2^-24, which are lost one by one beside 1, and are 2^-12 before it.
Finding repeated_index_add(c10::Device device) {
  constexpr int kRuns = 20;
  constexpr std::int64_t kTerms = 4097;
  const auto options = at::TensorOptions(device).dtype(kFloat);
  const at::Tensor one = at::ones({1}, options), small = at::full({kTerms - 1}, 0x1p-24, options);
  Json raw = Json::object();
  std::string words;
  for (const bool one_first : {true, false}) {
    const at::Tensor source = one_first ? at::cat({one, small}) : at::cat({small, one});
    std::set<std::string> seen;
    for (int run = 0; run < kRuns; ++run) {
      const at::Tensor zero = at::zeros({1}, options);
      seen.insert(texts(at::index_add(zero, 0, zero_indices(kTerms, device), source)).front());
    }
    const std::string order = one_first ? "one first" : "one last";
    // Which values atomics give is chance; that there are several is not.
    const std::string said = seen.size() == 1 ? *seen.begin() : "differs from run to run";
    raw[order] = said;
    words += (words.empty() ? "" : "; ") + order + ": " + said;
  }
  return {std::move(raw), std::move(words)};
}

Finding bf16_accumulators(c10::Device device) {
  constexpr std::int64_t kOnes = 512;
  const auto options = at::TensorOptions(device).dtype(kBFloat16);
  const at::Tensor ones = at::ones({kOnes}, options), zero = at::zeros({1}, options);
  const std::vector<std::pair<std::string, at::Tensor>> sums{
      {"sum", at::sum(ones)},
      {"index_add", at::index_add(zero, 0, zero_indices(kOnes, device), ones)},
      {"scatter_add", at::scatter_add(zero, 0, zero_indices(kOnes, device), ones)},
      {"dot", at::dot(ones, ones)}};
  Json raw = Json::object();
  std::string words;
  for (const auto& [name, sum] : sums) {
    const std::string value = texts(sum).front();
    raw[name] = value;
    words += (words.empty() ? "" : "; ") + name + ": " + value +
             (value == "512" ? "" : value == "256" ? " (the accumulator is BF16)" : "");
  }
  return {std::move(raw), std::move(words)};
}

// Values that are rounded in every product, the same on every machine.
at::Tensor pattern(std::int64_t rows, std::int64_t columns, std::uint32_t seed, ScalarType type,
                   c10::Device device) {
  at::Tensor matrix = at::zeros({rows, columns}, kFloat);
  auto* values = matrix.mutable_data_ptr<float>();
  std::uint32_t state = seed;
  for (std::int64_t i = 0; i < matrix.numel(); ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    values[i] = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return matrix.to(type).to(device);
}

Probe batch_invariance(ScalarType type, const std::string& format) {
  return {"batch-invariance-" + format, "is a row's product the same alone and inside a batch, bit by bit?", {type},
          [type](c10::Device device) {
            constexpr std::array<std::int64_t, 4> kBatches{2, 17, 33, 128};
            const at::Tensor a = pattern(128, 512, 1, type, device), b = pattern(512, 256, 2, type, device);
            const auto alone = bits(at::mm(a.narrow(0, 0, 1), b));
            Json raw = Json::object();
            std::string other;
            for (const std::int64_t batch : kBatches) {
              const bool same = bits(at::mm(a.narrow(0, 0, batch), b).narrow(0, 0, 1)) == alone;
              raw[std::to_string(batch)] = same ? "same" : "other";
              if (!same) other += (other.empty() ? "" : ", ") + std::to_string(batch);
            }
            return Finding{std::move(raw), other.empty() ? "the same in batches of 2, 17, 33 and 128"
                                                         : "another result in batches of " + other};
          }};
}

}  // namespace

std::vector<Probe> order_probes() {
  return {{"index-add-order-fp32", "1 and 4096 times 2^-24 by index_add, twenty times", {kFloat}, repeated_index_add},
          {"accumulators-bf16", "512 ones", {kBFloat16}, bf16_accumulators},
          batch_invariance(kFloat, "fp32"),
          batch_invariance(kHalf, "fp16"),
          batch_invariance(kBFloat16, "bf16")};
}

}  // namespace ampgate::validate::fingerprint
