#include "results/object_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "results/error.h"

namespace ampgate::results {
namespace {

constexpr std::string_view kAction = "Correct that value; share/ampgate/schema describes what is allowed.";

std::string place(const std::string& where, const Json::json_pointer& pointer) {
  return where + "#" + pointer.to_string();
}

// Levenshtein's distance: insertions, deletions and substitutions from one word to the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string shortest(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

std::string described(const Json& value) {
  std::string text = to_text(value);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return std::string(value.type_name()) + " " + text;
}

std::string suggestion(const std::string& key, const std::vector<std::string>& known) {
  constexpr std::size_t kMost = 3;
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(key, name);
    if (distance <= std::max<std::size_t>(2, key.size() / 3)) near.emplace_back(distance, name);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> words = known;
  if (!near.empty()) {
    words.clear();
    for (std::size_t i = 0; i < std::min(near.size(), kMost); ++i) words.push_back(near[i].second);
  }
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return near.empty() ? "known here: " + list : "did you mean " + list + "?";
}

ObjectReader::ObjectReader(const Json& value, std::string where, Json::json_pointer pointer)
    : value_(value), where_(std::move(where)), pointer_(std::move(pointer)) {
  if (!value_.is_object()) {
    throw FileError(place(where_, pointer_), "must be an object, is " + described(value_),
                    std::string(kAction));
  }
}

const Json* ObjectReader::find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  const auto member = value_.find(key);
  return member == value_.end() ? nullptr : &*member;
}

bool ObjectReader::has(std::string_view key) { return find(std::string(key)) != nullptr; }

const Json& ObjectReader::get(const std::string& key) {
  const Json* member = find(key);
  if (member == nullptr) fail(key, "is missing");
  return *member;
}

ObjectReader ObjectReader::object(const std::string& key) { return {get(key), where_, pointer_ / key}; }

void ObjectReader::read(const std::string& key, bool& target) {
  const Json* member = find(key);
  if (member == nullptr) return;
  if (!member->is_boolean()) fail(key, "must be true or false, is " + described(*member));
  target = member->get<bool>();
}

void ObjectReader::read(const std::string& key, std::string& target) {
  const Json* member = find(key);
  if (member == nullptr) return;
  if (!member->is_string()) fail(key, "must be a string, is " + described(*member));
  target = member->get<std::string>();
}

void ObjectReader::read(const std::string& key, std::vector<std::string>& target) {
  const Json* member = find(key);
  if (member == nullptr) return;
  const bool strings = member->is_array() && std::all_of(member->begin(), member->end(),
                                                         [](const Json& item) { return item.is_string(); });
  if (!strings) fail(key, "must be an array of strings, is " + described(*member));
  target = member->get<std::vector<std::string>>();
}

void ObjectReader::read(const std::string& key, double& target, double low, double high) {
  const Json* member = find(key);
  if (member == nullptr) return;
  if (!member->is_number()) fail(key, "must be a number, is " + described(*member));
  const double number = member->get<double>();
  if (!(number >= low && number <= high)) {
    fail(key, "must lie between " + shortest(low) + " and " + shortest(high) + ", is " + to_text(*member));
  }
  target = number;
}

void ObjectReader::read(const std::string& key, std::int64_t& target, std::int64_t low, std::int64_t high) {
  const Json* member = find(key);
  if (member == nullptr) return;
  if (!member->is_number_integer()) fail(key, "must be an integer, is " + described(*member));
  const bool too_large = member->is_number_unsigned() &&
                         member->get<std::uint64_t>() > static_cast<std::uint64_t>(high < 0 ? 0 : high);
  const auto number = too_large ? high : member->get<std::int64_t>();
  if (too_large || number < low || number > high) {
    fail(key, "must lie between " + std::to_string(low) + " and " + std::to_string(high) + ", is " +
                  to_text(*member));
  }
  target = number;
}

void ObjectReader::read(const std::string& key, int& target, int low, int high) {
  std::int64_t wide = target;
  read(key, wide, std::int64_t{low}, std::int64_t{high});
  target = static_cast<int>(wide);
}

void ObjectReader::refuse_unknown() const {
  for (const auto& [key, member] : value_.items()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      fail(key, "unknown key; " + suggestion(key, known_));
    }
  }
}

void ObjectReader::fail(const std::string& key, const std::string& problem) const {
  throw FileError(place(where_, pointer_ / key), problem, std::string(kAction));
}

std::vector<std::string> ObjectReader::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, member] : value_.items()) names.push_back(key);
  return names;
}

}  // namespace ampgate::results
