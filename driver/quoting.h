// Words and paths as a shell takes them, for the commands that the driver prints and records.
#pragma once

#include <filesystem>
#include <string>

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

}  // namespace ampgate::driver
