// Files of the kernel that hold one word.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace ampgate::backends {

// Empty where the file is missing or may not be read.
inline std::string first_word(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace ampgate::backends
