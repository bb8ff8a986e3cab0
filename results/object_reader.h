// Reads one JSON object member by member: types, ranges and unknown keys, each error with its JSON pointer.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "results/json.h"

namespace ampgate::results {

// "did you mean a, b?" for the known names nearest to this one, else "known here: " and all of them.
std::string suggestion(const std::string& key, const std::vector<std::string>& known);

// A value in an error: its type, and the first 40 characters of its text.
std::string described(const Json& value);

// Every method throws FileError, whose place is "<where>#<pointer>". Members are known once they were asked
// for.
class ObjectReader {
 public:
  // `value` must outlive the reader. Throws unless it is an object.
  ObjectReader(const Json& value, std::string where, Json::json_pointer pointer = Json::json_pointer());

  bool has(std::string_view key);

  // The member; absent is an error.
  const Json& get(const std::string& key);
  ObjectReader object(const std::string& key);

  // Leave `target` as it is when the member is absent.
  void read(const std::string& key, bool& target);
  void read(const std::string& key, std::string& target);
  void read(const std::string& key, std::vector<std::string>& target);
  void read(const std::string& key, double& target, double low, double high);  // both ends allowed
  void read(const std::string& key, std::int64_t& target, std::int64_t low,
            std::int64_t high = std::numeric_limits<std::int64_t>::max());
  void read(const std::string& key, int& target, int low, int high = std::numeric_limits<int>::max());

  // Refuses members that nobody asked for, and names the nearest known key.
  void refuse_unknown() const;

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;

  // Names of the members, in the document's order.
  std::vector<std::string> keys() const;

 private:
  const Json* find(const std::string& key);

  const Json& value_;
  std::string where_;
  Json::json_pointer pointer_;
  std::vector<std::string> known_;
};

}  // namespace ampgate::results
