#include "results/node.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "results/error.h"

namespace ampgate::results {

namespace {

// Not std::from_chars, which knows no "0x" and tells underflow from overflow no more than it tells both from
// an error. strtod alone would take spaces and words.
std::optional<double> parse(const std::string& text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text.find_first_not_of("0123456789abcdefABCDEFxXpP.+-") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || std::isinf(value)) return std::nullopt;
  return value;
}

std::optional<double> number_in(const Json& value) {
  if (value.is_number()) return value.get<double>();
  return value.is_string() ? parse(value.get<std::string>()) : std::nullopt;
}

// 2.0 is the integer 2, as schemas have it.
std::optional<std::int64_t> whole_in(double value, std::int64_t low, std::int64_t high) {
  constexpr double kExact = 9007199254740992;  // up to here every integer is a double of its own
  if (std::abs(value) > kExact || std::trunc(value) != value) return std::nullopt;
  const auto number = static_cast<std::int64_t>(value);
  return number >= low && number <= high ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> integer_in(const Json& value, std::int64_t low, std::int64_t high) {
  if (value.is_number_float()) return whole_in(value.get<double>(), low, high);
  if (!value.is_number_integer() && !value.is_string()) return std::nullopt;
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= low && number <= high ? std::optional(number) : std::nullopt;
}

}  // namespace

Node::Node(const Json& value, std::string where, std::string action, Json::json_pointer pointer)
    : value_(value), where_(std::move(where)), action_(std::move(action)), pointer_(std::move(pointer)) {}

std::size_t Node::size() const {
  if (!value_.is_array()) fail("must be an array, is " + described(value_));
  return value_.size();
}

Node Node::item(std::size_t index) const { return {value_[index], where_, action_, pointer_ / index}; }

std::vector<Node> Node::items() const {
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < size(); ++i) nodes.push_back(item(i));
  return nodes;
}

ObjectReader Node::object() const { return {value_, where_, pointer_}; }

Node Node::member(ObjectReader& object, const std::string& key) const {
  return {object.get(key), where_, action_, pointer_ / key};
}

std::string Node::string() const {
  if (!value_.is_string()) fail("must be a string, is " + described(value_));
  return value_.get<std::string>();
}

bool Node::boolean() const {
  if (!value_.is_boolean()) fail("must be true or false, is " + described(value_));
  return value_.get<bool>();
}

double Node::number() const {
  if (const auto number = number_in(value_)) return *number;
  fail(
      "must be a number, or a string that holds a decimal or hexadecimal number within float64, \"inf\", "
      "\"-inf\" or "
      "\"nan\"; is " +
      described(value_));
}

std::int64_t Node::integer(std::int64_t low, std::int64_t high) const {
  if (const auto number = integer_in(value_, low, high)) return *number;
  fail("must be an integer between " + std::to_string(low) + " and " + std::to_string(high) + ", is " +
       described(value_));
}

// A node for each of a million items would take longer than reading them.
std::vector<double> Node::numbers() const {
  std::vector<double> all;
  for (std::size_t i = 0; i < size(); ++i) {
    const auto number = number_in(value_[i]);
    all.push_back(number ? *number : item(i).number());
  }
  return all;
}

std::vector<std::int64_t> Node::integers(std::int64_t low, std::int64_t high) const {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < size(); ++i) {
    const auto number = integer_in(value_[i], low, high);
    all.push_back(number ? *number : item(i).integer(low, high));
  }
  return all;
}

void Node::fail(const std::string& problem) const {
  throw FileError(where_ + "#" + pointer_.to_string(), problem, action_);
}

}  // namespace ampgate::results
