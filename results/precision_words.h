// Precisions as sentences name them.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace ampgate::results {

// "FP16 by autocast"; FP32 for everything that is none of these.
inline std::string_view precision_words(std::string_view precision) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kWords{
      {{"autocast-fp16", "FP16 by autocast"},
       {"cast-fp16", "FP16 by conversion"},
       {"autocast-bf16", "BF16 by autocast"},
       {"cast-bf16", "BF16 by conversion"},
       {"islands-fp16", "FP16 by autocast with FP32 islands"},
       {"islands-bf16", "BF16 by autocast with FP32 islands"},
       {"tf32", "TF32"}}};
  for (const auto& [name, words] : kWords) {
    if (name == precision) return words;
  }
  return "FP32";
}

}  // namespace ampgate::results
