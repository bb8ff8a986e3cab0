// Words and paths as a shell takes them, for the commands that the driver prints and records.
#pragma once

#include <filesystem>
#include <string>

#include "results/json.h"

namespace ampgate::driver {

// In single quotes, whatever it holds.
inline std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
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
