#include "driver/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ampgate::driver {
namespace {

// Columns that a terminal shows, not bytes: UTF-8 continuation bytes take none.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string painted(const Cell& cell, bool colour) {
  constexpr std::array<std::string_view, 4> kCodes{"", "\033[32m", "\033[33m", "\033[31m"};
  if (!colour || cell.colour == Colour::kNone) return cell.text;
  return fmt::format("{}{}\033[0m", kCodes[static_cast<std::size_t>(cell.colour)], cell.text);
}

}  // namespace

Colour colour_of(const std::string& word) {
  if (word == "pass" || word == "measured") return Colour::kGreen;
  if (word == "unsupported" || word == "suspect" || word == "ambiguous" || word == "below-target")
    return Colour::kYellow;
  return Colour::kRed;
}

std::string in_columns(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                       bool colour) {
  std::vector<std::vector<Cell>> lines(1);
  for (const auto& column : columns) lines[0].push_back({column.head});
  lines.insert(lines.end(), rows.begin(), rows.end());
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i].text));
  }
  std::string text;
  for (const auto& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - width(cells[i].text), ' ');
      if (i > 0) line += "  ";
      line += columns[i].right ? padding + painted(cells[i], colour) : painted(cells[i], colour) + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace ampgate::driver
