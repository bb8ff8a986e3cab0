#include "driver/shapes_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "driver/names.h"
#include "results/error.h"

namespace ampgate::driver {
namespace {

constexpr auto kAction =
    "a line is like 'matmul,512x256x64' below the header 'case,shape': see docs/shapes.md";

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Cells between commas, trimmed; a cell in double quotes may hold commas (RFC 4180, one line a record).
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) throw std::invalid_argument("a quotation mark is not closed");
  for (auto& cell : cells) cell = trimmed(cell);
  return cells;
}

class Table {
 public:
  Table(const Manifest& manifest, const std::vector<std::string>& patterns)
      : manifest_(manifest), patterns_(patterns), meant_(cases_meant(manifest, patterns)) {}

  bool has_header() const { return !header_.empty(); }

  void read_header(const std::vector<std::string>& cells) {
    std::set<std::string> dims{"case", "shape"};
    for (const auto& info : manifest_.cases) dims.insert(info.dims.begin(), info.dims.end());
    const std::vector<std::string> known(dims.begin(), dims.end());
    std::set<std::string> seen;
    for (const auto& cell : cells) {
      if (dims.count(cell) == 0)
        throw std::invalid_argument(
            fmt::format("the header's '{}' is neither 'case', 'shape' nor a size of a "
                        "case; {}",
                        cell, suggest(cell, known)));
      if (!seen.insert(cell).second)
        throw std::invalid_argument(fmt::format("the header names '{}' twice", cell));
    }
    if (seen.count("shape") != 0 && seen.size() > 1 + seen.count("case"))
      throw std::invalid_argument("the header has 'shape' and sizes beside it: one of the two");
    if (seen.size() == seen.count("case")) throw std::invalid_argument("the header names no sizes");
    if (seen.count("case") == 0 && patterns_.empty())
      throw std::invalid_argument(
          "the header has no column 'case', and no --case says whose shapes these are");
    header_ = cells;
  }

  void read_row(const std::vector<std::string>& cells, const std::string& from,
                std::vector<CaseShape>& shapes) const {
    if (cells.size() != header_.size())
      throw std::invalid_argument(fmt::format("{} cells below a header of {}", cells.size(), header_.size()));
    const auto column = std::find(header_.begin(), header_.end(), "case");
    if (column == header_.end()) {
      for (const auto* info : meant_) shapes.push_back({info, sizes(*info, cells), from});
      return;
    }
    const CaseInfo& info = case_named(manifest_, cells[static_cast<std::size_t>(column - header_.begin())]);
    CaseShape shape{&info, sizes(info, cells), from};
    if (patterns_.empty() || std::find(meant_.begin(), meant_.end(), &info) != meant_.end())
      shapes.push_back(std::move(shape));
  }

 private:
  // An empty cell: the case has no such size.
  std::vector<std::int64_t> sizes(const CaseInfo& info, const std::vector<std::string>& cells) const {
    std::string named;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (header_[i] == "shape") return parse_shape(info, cells[i]);
      if (header_[i] != "case" && !cells[i].empty())
        named += (named.empty() ? "" : ",") + header_[i] + "=" + cells[i];
    }
    if (named.empty()) throw std::invalid_argument("no sizes");
    return parse_shape(info, named);
  }

  const Manifest& manifest_;
  const std::vector<std::string>& patterns_;
  std::vector<const CaseInfo*> meant_;
  std::vector<std::string> header_;
};

}  // namespace

std::vector<CaseShape> read_shapes_file(const std::string& path, const Manifest& manifest,
                                        const std::vector<std::string>& patterns) {
  std::error_code error;
  // Nobody may write to a named pipe; that of a shell, or standard input, somebody does.
  const bool readable =
      std::filesystem::is_regular_file(path, error) || path == "/dev/stdin" || path.starts_with("/dev/fd/");
  std::ifstream file;
  if (readable) file.open(path, std::ios::binary);
  if (!file.is_open()) throw results::FileError(path, "cannot be read", "give --shapes a file that is there");
  Table table(manifest, patterns);
  std::vector<CaseShape> shapes;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string from = fmt::format("{}:{}", path, ++number);
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // spreadsheets write this mark
    const std::string text = trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    try {
      const auto cells = cells_of(text);
      table.has_header() ? table.read_row(cells, from, shapes) : table.read_header(cells);
    } catch (const std::invalid_argument& problem) {
      throw results::FileError(from, problem.what(), kAction);
    }
  }
  if (!table.has_header()) throw results::FileError(path, "holds no header line", kAction);
  if (shapes.empty()) throw results::FileError(path, "holds no shape of a case that this run has", kAction);
  return shapes;
}

}  // namespace ampgate::driver
