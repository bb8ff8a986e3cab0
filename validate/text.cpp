#include "validate/text.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace ampgate::validate {

std::string text(double value) {
  if (std::isnan(value)) return "nan";  // printf shows its sign, which means nothing
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return buffer.data();
}

std::string text(const std::vector<std::int64_t>& position) {
  std::string list;
  for (const auto index : position) list += (list.empty() ? "" : ", ") + std::to_string(index);
  return '[' + list + ']';
}

}  // namespace ampgate::validate
