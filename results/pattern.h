// Patterns of rules files: `*` stands for any characters.
#pragma once

#include <string_view>

namespace ampgate::results {

inline bool matches(std::string_view pattern, std::string_view word) {
  if (pattern.empty()) return word.empty();
  if (pattern.front() == '*') {
    return matches(pattern.substr(1), word) || (!word.empty() && matches(pattern, word.substr(1)));
  }
  return !word.empty() && pattern.front() == word.front() && matches(pattern.substr(1), word.substr(1));
}

}  // namespace ampgate::results
