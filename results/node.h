// One value of a JSON document that people write, together with its place, so that every complaint can say
// where.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "results/json.h"
#include "results/object_reader.h"

namespace ampgate::results {

// Every method throws FileError, whose place is "<where>#<pointer>".
class Node {
 public:
  // `value` must outlive the node. `action` says what to do about a complaint.
  Node(const Json& value, std::string where, std::string action,
       Json::json_pointer pointer = Json::json_pointer());

  const Json& value() const { return value_; }
  bool is_null() const { return value_.is_null(); }

  std::vector<Node> items() const;
  std::size_t size() const;  // of an array
  ObjectReader object() const;
  Node member(ObjectReader& object, const std::string& key) const;

  std::string string() const;
  bool boolean() const;

  // A JSON number, or a string: decimal, hexadecimal ("0x1.8p+3"), "inf", "-inf" or "nan". Finite numbers
  // beyond float64 are refused.
  double number() const;

  // A JSON integer, or a string of decimal digits.
  std::int64_t integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;

  // The same for every item of an array.
  std::vector<double> numbers() const;
  std::vector<std::int64_t> integers(std::int64_t low, std::int64_t high) const;

  [[noreturn]] void fail(const std::string& problem) const;

 private:
  Node item(std::size_t index) const;

  const Json& value_;
  std::string where_;
  std::string action_;
  Json::json_pointer pointer_;
};

}  // namespace ampgate::results
