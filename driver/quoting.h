// Words and paths as a shell takes them, for the commands that the driver prints and records.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>

#include "results/json.h"

namespace ampgate::driver {

// In single quotes, whatever it holds.
inline std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// In quotes only where a shell would take it for something else.
inline std::string word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_./-+:,@%=").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain ? text : quoted(text);
}

// From the root, so that the command works in any folder.
inline std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

// " --case-file '/x/a.json' --case-file '/x/b.json'", for files as plans name them: [{"path"}].
inline std::string option_for_each(const std::string& option, const results::Json& files) {
  std::string text;
  for (const auto& file : files) text += " " + option + " " + quoted(file.at("path").get<std::string>());
  return text;
}

}  // namespace ampgate::driver
