#include "validate/fingerprint/values.h"

#include <ATen/ops/empty.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace ampgate::validate::fingerprint {

std::string text(float value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end.ptr};
}

std::vector<std::string> texts(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(c10::kCPU, c10::kFloat).contiguous();
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < values.numel(); ++i) result.push_back(text(values.const_data_ptr<float>()[i]));
  return result;
}

std::vector<std::string> bits(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(c10::kCPU).contiguous();
  const auto* bytes = static_cast<const unsigned char*>(values.const_data_ptr());
  const auto width = static_cast<std::size_t>(values.element_size());
  std::vector<std::string> result;
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    std::string digits;
    for (std::size_t byte = width; byte-- > 0;) {
      std::array<char, 3> two{};
      std::snprintf(two.data(), two.size(), "%02X", bytes[static_cast<std::size_t>(i) * width + byte]);
      digits += two.data();
    }
    result.push_back(digits);
  }
  return result;
}

at::Tensor from_bits(const std::vector<std::uint32_t>& bits) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bits.size())}, c10::kFloat);
  std::memcpy(tensor.mutable_data_ptr<float>(), bits.data(), bits.size() * sizeof(float));
  return tensor;
}

std::string meaning(const Meanings& meanings, const std::string& value) {
  for (const auto& [known, words] : meanings) {
    if (known == value) return words;
  }
  return value + ", which is not among the values known of devices";
}

std::string in_words(const Meanings& meanings, const std::map<std::string, int>& seen) {
  std::map<std::string, int> meant;  // several values may mean the same
  int all = 0;
  for (const auto& [value, count] : seen) {
    meant[meaning(meanings, value)] += count;
    all += count;
  }
  if (meant.size() == 1) return meant.begin()->first;
  std::string result;
  for (const auto& [words, count] : meant)
    result += (result.empty() ? "" : "; ") + words + " (" + std::to_string(count) + " of " + std::to_string(all) + ")";
  return result + " layouts and sizes";
}

std::string in_ranges(const std::vector<int>& numbers) {
  std::string result;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    result += (result.empty() ? "" : ", ") + std::to_string(numbers[begin]);
    if (end > begin + 1) result += " to " + std::to_string(numbers[end - 1]);
    begin = end;
  }
  return result.empty() ? "none" : result;
}

}  // namespace ampgate::validate::fingerprint
