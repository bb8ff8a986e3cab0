// Changes of JSON that stay JSON: bytes changed at random are refused by the parser, and nothing behind it is
// met.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "results/json.h"

using ampgate::results::Json;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

const std::vector<const char*> kOdd{"null",
                                    "true",
                                    "false",
                                    "0",
                                    "-1",
                                    "1",
                                    "0.5",
                                    "1e308",
                                    "-1e-308",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551615",
                                    "4294967296",
                                    "\"\"",
                                    "\"nan\"",
                                    "\"inf\"",
                                    "\"pass\"",
                                    "\"measured\"",
                                    "\"fp32\"",
                                    "\"../../x\"",
                                    "\"\\u0000<b>\"",
                                    "[]",
                                    "{}",
                                    "[[]]",
                                    "[1,2]",
                                    "[[0,0,0,1,5.0]]",
                                    "{\"a\":1}",
                                    "{\"value\":2.0,\"interval\":[1.0,3.0]}",
                                    "{\"value\":\"nan\"}"};

void collect(Json& json, std::vector<Json*>& places) {
  places.push_back(&json);
  if (!json.is_structured()) return;
  for (auto& child : json) collect(child, places);
}

void erase_some(Json& json, std::mt19937& draw) {
  if (json.empty()) return;
  const auto at = static_cast<std::ptrdiff_t>(draw() % json.size());
  json.erase(std::next(json.begin(), at));
}

void change(Json& document, std::mt19937& draw) {
  std::vector<Json*> places;
  collect(document, places);
  Json& one = *places[draw() % places.size()];
  const Json other = *places[draw() % places.size()];
  switch (draw() % 6) {
    case 0:
      one = Json::parse(kOdd[draw() % kOdd.size()]);
      return;
    case 1:
      if (one.is_structured()) return erase_some(one, draw);
      one = other;
      return;
    case 2:
      if (one.is_array()) return one.push_back(other);
      if (one.is_object()) one["x" + std::to_string(draw() % 4)] = other;
      return;
    case 3:
      if (one.is_array() && !one.empty()) one.push_back(Json(one[draw() % one.size()]));
      return;
    case 4:
      if (one.is_number_integer()) one = one.get<std::int64_t>() / 2 - 1;
      if (one.is_number_float()) one = -one.get<double>() * 1e3;
      return;
    default:
      one = other;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::mt19937 draw(seed);
  Json document =
      draw() % 16 == 0 ? Json(Json::value_t::discarded) : Json::parse(data, data + size, nullptr, false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned changes = 1 + draw() % 3; changes > 0; --changes) change(document, draw);
  const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > max_size) return size;
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
