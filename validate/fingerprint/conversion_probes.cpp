#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isnan.h>

#include "validate/fingerprint/probe.h"
#include "validate/fingerprint/values.h"

namespace ampgate::validate::fingerprint {
namespace {

using c10::kBFloat16;
using c10::kHalf;
using results::Json;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// FP32 bits, many times each, since kernels treat the last elements in another way.
Finding converted(c10::Device device, const std::vector<std::uint32_t>& from, c10::ScalarType to,
                  const Meanings& meanings) {
  constexpr std::int64_t kCopies = 67;
  const at::Tensor all = from_bits(from).repeat({kCopies}).to(device);
  const auto seen = bits(all.to(to));
  const std::vector<std::string> first(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(from.size()));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] != first[i % from.size()])
      return {Json{joined(first), seen[i]}, "the same value is converted in two ways, by its place"};
  }
  const std::string value = joined(first);
  return {value, meaning(meanings, value)};
}

}  // namespace

std::vector<Probe> conversion_probes() {
  return {
      {"rounding-to-bf16",
       "FP32 3F808000, 3F818000, 3F808001 to BF16",
       {kBFloat16},
       [](c10::Device device) {
         return converted(device, {0x3F808000, 0x3F818000, 0x3F808001}, kBFloat16,
                          {{"3F80 3F82 3F81", "to nearest, ties to even"},
                           {"3F81 3F82 3F81", "to nearest, ties away from zero"},
                           {"3F80 3F81 3F80", "toward zero"}});
       }},
      {"overflow-to-bf16",
       "the largest FP32 to BF16",
       {kBFloat16},
       [](c10::Device device) {
         return converted(device, {0x7F7FFFFF}, kBFloat16, {{"7F80", "infinity"}, {"7F7F", "saturates"}});
       }},
      {"overflow-to-fp16",
       "65520 to FP16",
       {kHalf},
       [](c10::Device device) {
         return converted(device, {0x477FF000}, kHalf, {{"7C00", "infinity"}, {"7BFF", "saturates"}});
       }},
      {"nan-to-bf16",
       "the NaN 7F800001 to BF16",
       {kBFloat16},
       [](c10::Device device) {
         Finding found = converted(device, {0x7F800001}, kBFloat16, {{"7F80", "wrong: an infinity"}});
         // Which of its NaNs is a library's choice.
         const bool is_nan = at::isnan(from_bits({0x7F800001}).to(device).to(kBFloat16)).item<bool>();
         if (is_nan) found.words = "a NaN, " + found.raw.get<std::string>();
         return found;
       }},
      {"fp64-to-fp16",
       "FP64 1 + 2^-11 + 2^-40 to FP16",
       {kHalf},
       [](c10::Device device) {
         const auto options = at::TensorOptions(device).dtype(c10::kDouble);
         const std::string value = bits(at::full({67}, 1 + 0x1p-11 + 0x1p-40, options).to(kHalf)).front();
         return Finding{value, meaning({{"3C01", "rounded once"}, {"3C00", "rounded twice, through FP32"}}, value)};
       }},
  };
}

}  // namespace ampgate::validate::fingerprint
