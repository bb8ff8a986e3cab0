#include "results/json.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "results/error.h"

namespace ampgate::results {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 30;

// Feeds the parser and tells how far it has read: SAX callbacks carry no position.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    ++at_;
    *furthest_ = at_;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error" -> "syntax error"
std::string without_prefix(std::string message) {
  if (const auto end = message.find("] "); message.starts_with('[') && end != std::string::npos) {
    message.erase(0, end + 2);
  }
  if (const auto end = message.find(": "); message.starts_with("parse error") && end != std::string::npos) {
    message.erase(0, end + 2);
  }
  return message;
}

class Builder : public nlohmann::json_sax<Json> {
 public:
  Json& root() { return root_; }
  const std::string& problem() const { return problem_; }

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t&) override { return fail("binary data"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!open_.back().keys.insert(name).second) return fail("duplicate key \"" + name + "\"");
    open_.back().next_key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    return fail(without_prefix(error.what()));
  }

 private:
  struct Level {
    Json* container;
    std::unordered_set<std::string> keys;
    std::string next_key;
  };

  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  // The address stays valid while the value is open: only the innermost container grows.
  Json* place(Json&& value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = open_.back();
    if (level.container->is_array()) {
      level.container->push_back(std::move(value));
      return &level.container->back();
    }
    // Not operator[], which searches all keys: key() has refused duplicates already.
    auto& members = level.container->get_ref<Json::object_t&>();
    members.emplace_back(std::move(level.next_key), std::move(value));
    return &members.back().second;
  }

  template <typename Value>
  bool scalar(Value&& value) {
    place(Json(std::forward<Value>(value)));
    return true;
  }

  bool open(Json&& container) {
    if (open_.size() == kMaxDepth) return fail("nested deeper than " + std::to_string(kMaxDepth));
    open_.push_back({place(std::move(container)), {}, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Level> open_;
  std::string problem_;
};

std::string line_and_column(std::string_view read) {
  const auto line = 1 + std::count(read.begin(), read.end(), '\n');
  const auto start = read.rfind('\n');
  const auto column = start == std::string_view::npos ? read.size() : read.size() - start - 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

void name_nonfinite(Json& value) {
  if (value.is_structured()) {
    for (Json& member : value) name_nonfinite(member);
  } else if (value.is_number_float()) {
    value = number(value.get<double>());
  }
}

}  // namespace

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_from(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  throw std::invalid_argument(to_text(value) + R"( is neither a number nor "nan", "inf" or "-inf")");
}

Json parse_strict(std::string_view text, const std::string& where) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw FileError(where, "empty", "Give a file that holds one JSON document.");
  }
  const char* furthest = text.data();
  const char* const end = text.data() + text.size();
  Builder builder;
  if (!Json::sax_parse(Cursor(text.data(), &furthest), Cursor(end, &furthest), &builder)) {
    const std::string_view read(text.data(), static_cast<std::size_t>(furthest - text.data()));
    throw FileError(where + ":" + line_and_column(read), builder.problem(),
                    "Correct the file there; if a program wrote it, it is truncated or altered.");
  }
  return std::move(builder.root());
}

std::string to_text(const Json& value, int indent) {
  Json copy = value;
  name_nonfinite(copy);
  return copy.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json at_pointer(const Json& value, const std::string& pointer) {
  const Json::json_pointer where(pointer);
  return value.contains(where) ? value.at(where) : Json();
}

Json read_json_file(const std::string& path) {
  constexpr const char* kAction = "Give a file that exists and can be read.";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw FileError(path, "is a folder, no file", kAction);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FileError(path, std::strerror(errno), kAction);
  // A pipe has no size: it is read piece by piece, as files are.
  std::string text;
  std::vector<char> piece(std::size_t{1} << 16);
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxFileBytes)
      throw FileError(path, "larger than 1 GiB", "Give a record, plan or rules file of this program.");
  }
  if (!file.eof()) throw FileError(path, std::strerror(errno), kAction);
  return parse_strict(text, path);
}

}  // namespace ampgate::results
