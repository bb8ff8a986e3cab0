// Text in aligned columns, with colour where it is asked for.
#pragma once

#include <string>
#include <vector>

namespace ampgate::driver {

enum class Colour { kNone, kGreen, kYellow, kRed };

// That of a verdict or a measurement's verdict.
Colour colour_of(const std::string& word);

struct Cell {
  std::string text;
  Colour colour = Colour::kNone;
};

struct Column {
  std::string head;
  bool right = false;  // aligned to the right
};

// One line for the heads and one for each row; rows may be shorter than `columns`. Text is UTF-8.
std::string in_columns(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                       bool colour);

}  // namespace ampgate::driver
