// JSON as this project reads and writes it: strict when reading, and numbers that are not finite as words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ampgate::results {

using Json = nlohmann::ordered_json;

// "nan", "inf" or "-inf" for a value that is not finite, else the number.
Json number(double value);

// The reverse. Throws std::invalid_argument for anything else.
double number_from(const Json& value);

// Parses one whole document. Throws FileError that names `where`, line and column for a syntax error, a
// duplicate key, invalid UTF-8, nesting deeper than 64, or anything after the document.
Json parse_strict(std::string_view text, const std::string& where);

// The value as text: numbers that are not finite as words, bytes that are not UTF-8 replaced. `indent` -1:
// one line.
std::string to_text(const Json& value, int indent = -1);

// What stands there, null where nothing does.
Json at_pointer(const Json& value, const std::string& pointer);

// A JSON file, read whole (at most 1 GiB). Throws FileError.
Json read_json_file(const std::string& path);

}  // namespace ampgate::results
