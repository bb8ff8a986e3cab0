#include "driver/names.h"

#include <fnmatch.h>

#include <algorithm>
#include <numeric>

namespace ampgate::driver {
namespace {

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::string suggest(std::string_view word, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const auto& candidate : known) {
    const std::size_t d = distance(word, candidate);
    const bool part = !word.empty() && (candidate.find(word) != std::string::npos);
    if (part || d <= 1 + std::max(word.size(), candidate.size()) / 4)
      near.emplace_back(part ? 1 : d, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.empty()) return "known: " + join(known, ", ");
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 3); ++i) {
    text += (i == 0 ? "'" : " or '") + near[i].second + "'";
  }
  return text + "?";
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : std::string(separator)) + word;
  return text;
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> pieces;
  while (!list.empty()) {
    const auto end = std::min(list.find(separator), list.size());
    if (end > 0) pieces.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return pieces;
}

}  // namespace ampgate::driver
